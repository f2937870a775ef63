/**
 * Where one is in a task, kept on this device and told to the server, so that another device can go on there. Owns that it is
 * told rarely while one moves, and not lost when the page is closed; must never tell of merely looking in.
 */

import type { Api } from "./api";
import type { Session } from "./session";
import type { Shelf } from "./shelf";
import type { Where } from "./where";

/** Milliseconds without a move. */
const SETTLED = 3_000;
/** So long a proof that was made ready is as good as new. */
const FRESH = 20_000;

export class Whereabouts {
  #timer: ReturnType<typeof setTimeout> | null = null;
  #ready: { send: (where: Where) => void; at: number } | null = null;

  constructor(
    private readonly to: { api: Api; session: Session; shelf: Shelf; task: string },
    private readonly read: () => Where,
  ) {
    globalThis.document?.addEventListener("visibilitychange", this.#hidden);
    globalThis.addEventListener?.("pagehide", this.#leaving);
  }

  /** One has moved. */
  moved(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#flush, SETTLED);
    void this.#makeReady();
  }

  stop(): void {
    this.#flush();
    globalThis.document?.removeEventListener("visibilitychange", this.#hidden);
    globalThis.removeEventListener?.("pagehide", this.#leaving);
  }

  readonly #hidden = (): void => void (document.hidden && this.#flush());

  readonly #flush = (): void => {
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    void this.#tell(this.read());
  };

  /** What is left to do takes no time, for there is none. */
  readonly #leaving = (): void => {
    if (!this.#timer || !this.#ready) return this.#flush();
    clearTimeout(this.#timer);
    this.#timer = null;
    const where = this.read();
    this.to.shelf.leaveAt(this.to.task, where, true);
    this.#ready.send(where);
    this.#ready = null;
  };

  async #makeReady(): Promise<void> {
    const { api, session, task } = this.to;
    const now = performance.now();
    if (!session.id || (this.#ready && now - this.#ready.at < FRESH)) return;
    const send = await api.readyToNote(session.id, task).catch(() => null);
    this.#ready = send && { send, at: now };
  }

  /** What the server could not be told stays noted here, and goes with the next move. */
  async #tell(where: Where): Promise<void> {
    const { api, session, shelf, task } = this.to;
    shelf.leaveAt(task, where, true);
    if (!session.id) return;
    try {
      await api.notePlace(session.id, task, where);
      shelf.leaveAt(task, where, false);
    } catch {
      return;
    }
  }
}
