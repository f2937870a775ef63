/**
 * The saved light. Owns the one question "is all that was typed here on the server's disk?"; must never say "saved" on the
 * strength of a connection alone: only the answer to a barrier that was sent after the last edit counts.
 *
 * Pure: it is told what happened and when, and answers what to show. Times are milliseconds of any steady clock.
 *
 *   L1  "saved" means that every local edit was made before a barrier that this connection has answered
 *   L2  a barrier counts only for the connection it was sent on
 *   L3  a refusal stays shown until the document is opened afresh, or one may write again and is asked for what was refused
 */

export type Shown =
  | { kind: "opening" }
  | { kind: "saved" }
  | { kind: "saving" }
  | { kind: "offline"; unsaved: boolean }
  | { kind: "refused"; why: string };

/** What the server was asked and has not answered: barrier `number` covers the edits up to `edits`. */
interface Asked {
  number: number;
  edits: number;
  at: number;
}

/** A server that lets a barrier wait longer than this is not there any more. */
export const PATIENCE = 4_500;

export class Light {
  #opening = true;
  #connected = false;
  #synced = false;
  #edits = 0;
  #saved = 0;
  #number = 0;
  #asked: Asked[] = [];
  #refused: string | null = null;

  connected(): void {
    this.#asked = [];
    this.#connected = true;
    this.#synced = false;
  }

  disconnected(): void {
    this.#asked = [];
    this.#opening = false;
    this.#connected = false;
    this.#synced = false;
  }

  /** The first sync of this connection is through: the server knows what it lacks of ours, and was sent it. */
  synced(): void {
    this.#opening = false;
    this.#synced = true;
  }

  edited(): void {
    this.#edits += 1;
  }

  /** The number to send as a barrier now; null while there is no one to send it to. */
  ask(now: number): number | null {
    if (!this.#connected || !this.#synced) return null;
    this.#number += 1;
    this.#asked.push({ number: this.#number, edits: this.#edits, at: now });
    return this.#number;
  }

  answered(number: number): void {
    const asked = this.#asked.find((one) => one.number === number);
    if (!asked) return;
    this.#asked = this.#asked.filter((one) => one.number > number);
    this.#saved = Math.max(this.#saved, asked.edits);
  }

  refused(why: string): void {
    this.#refused ??= why;
  }

  /** One may write again: the server has asked for what it refused. */
  allowed(): void {
    this.#refused = null;
  }

  /** Whether the server has kept us waiting for so long that the connection should be given up. */
  isLost(now: number): boolean {
    const oldest = this.#asked[0];
    return oldest !== undefined && now - oldest.at > PATIENCE;
  }

  get unsaved(): boolean {
    return this.#saved < this.#edits;
  }

  get shown(): Shown {
    if (this.#refused !== null) return { kind: "refused", why: this.#refused };
    if (this.#opening) return { kind: "opening" };
    if (!this.#connected) return { kind: "offline", unsaved: this.unsaved };
    if (!this.#synced || this.unsaved) return { kind: "saving" };
    return { kind: "saved" };
  }
}
