/**
 * What was written without a connection, in tasks that are not open here: it goes out by itself once the server can be
 * reached. Owns that this is no look at the task; must never send a copy of an older generation, nor let go of what was not
 * taken: opening its task tells what can be done.
 */

import { Problem, type Api } from "./api";
import type { Shelf } from "./shelf";

/** Bytes that one request may bring. */
const LONGEST = 700_000;

export class Outbox {
  readonly #stuck = new Set<string>();
  #open: string | undefined;
  #isSending = false;

  constructor(
    private readonly api: Pick<Api, "ask">,
    private readonly shelf: Shelf,
  ) {}

  /** The tasks that have to be opened for their words to go out. */
  get stuck(): ReadonlySet<string> {
    return new Set(this.#stuck);
  }

  /** Send what waits, of all tasks but one that is open. Resolves when it is sent, or when the server cannot be reached. */
  async send(open?: string): Promise<void> {
    this.#open = open;
    if (open) this.#stuck.delete(open);
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (const task of this.shelf.waiting()) {
        if (task === this.#open || this.#stuck.has(task)) continue;
        if (!(await this.#sendOne(task))) break;
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** Whether to go on with the next. What knows documents is fetched where there is any to send. */
  async #sendOne(task: string): Promise<boolean> {
    const kept = this.shelf.find(task);
    if (!kept) return true;
    const [{ isBeyond, readCopy, LocalCopy }, { toBase64 }, Y] = await Promise.all([
      import("./local_copy"),
      import("lib0/buffer"),
      import("yjs"),
    ]);
    const name = this.shelf.nameOf(task, kept.generation, kept.copy);
    const copy = await readCopy(name);
    if (!copy) return true;
    const update = Y.encodeStateAsUpdate(copy.doc, copy.reached ?? undefined);
    try {
      if (update.length > LONGEST) throw new Problem(413, "too_large", "");
      const body = { update: toBase64(update), generation: kept.generation };
      await this.api.ask("POST", `/tasks/${encodeURIComponent(task)}/updates`, body);
    } catch (error) {
      if (!(error instanceof Problem) || ["unavailable", "unauthenticated"].includes(error.code)) return false;
      this.#stuck.add(task);
      return true;
    }
    const reached = Y.encodeStateVector(copy.doc);
    const now = await LocalCopy.open(name, new Y.Doc());
    now.note(reached);
    // it may have been opened meanwhile, here or in another tab, and gone on
    if (task !== this.#open && !isBeyond(now.doc, reached)) this.shelf.mark(task, false);
    now.close();
    return true;
  }
}
