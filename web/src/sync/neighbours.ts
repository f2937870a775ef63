/**
 * The tabs of one browser in which one person has the same document open. Owns that they hear each other while a server does
 * not carry their words; must never pass anything on that is not of this person's own copy, whose name is the channel's.
 */

import * as Y from "yjs";

/** `wants`: what the speaker has, as a state vector, and asks to be told more than. */
interface Said {
  update: Uint8Array;
  wants?: Uint8Array;
}

export class Neighbours {
  #channel: BroadcastChannel | null;

  constructor(
    name: string,
    private readonly doc: Y.Doc,
    private readonly isAway: () => boolean,
  ) {
    this.#channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(name) : null;
    if (!this.#channel) return;
    this.#channel.onmessage = ({ data }: MessageEvent<Said>) => this.#hear(data);
    doc.on("update", this.#wrote);
  }

  /** The server is away: hear what the others have, and let them hear. */
  ask(): void {
    this.#say({ update: Y.encodeStateAsUpdate(this.doc), wants: Y.encodeStateVector(this.doc) });
  }

  close(): void {
    this.doc.off("update", this.#wrote);
    this.#channel?.close();
    this.#channel = null;
  }

  readonly #wrote = (update: Uint8Array, origin: unknown): void => {
    if (origin !== this && this.isAway()) this.#say({ update });
  };

  #hear({ update, wants }: Said): void {
    try {
      Y.applyUpdate(this.doc, update, this);
      if (wants) this.#say({ update: Y.encodeStateAsUpdate(this.doc, wants) });
    } catch {
      return; // what another tab says cannot be worse than silence
    }
  }

  #say(said: Said): void {
    this.#channel?.postMessage(said);
  }
}
