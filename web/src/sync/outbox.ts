/**
 * What was written without a connection, in tasks that are not open here: it goes out by itself once the server can be
 * reached. Owns that this is no look at the task; must never send a copy of an older generation, nor let go of what was not
 * taken: opening its task tells what can be done.
 */

import type { Doc } from "yjs";

import { Problem, type Api } from "./api";
import type { Shelf } from "./shelf";

/** Bytes that one request may bring. */
const LONGEST = 700_000;

/** Nobody is there, or not whom we were, or this browser may only read until it can prove its key again. */
function isForNow({ code, reason }: Problem): boolean {
  return code === "unavailable" || code === "unauthenticated" || reason === "stepped_down";
}

export class Outbox {
  readonly #stuck = new Set<string>();
  /** How often each was tried. */
  readonly #tries = new Map<string, number>();
  #open: string | undefined;
  #isSending = false;

  constructor(
    private readonly api: Pick<Api, "ask" | "me">,
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
      const due = this.#due();
      if (due.every((task) => this.#mayNot(task)) || !(await this.#isTheirs())) return;
      for (const task of due) {
        if (this.#mayNot(task)) continue;
        this.#tries.set(task, this.#triesOf(task) + 1);
        if (!(await this.#sendOne(task))) break;
      }
    } finally {
      this.#isSending = false;
    }
  }

  /** What waits, the least tried first: what is too long for a bad line must not hold the others up. */
  #due(): string[] {
    const waiting = this.shelf.waiting();
    for (const task of this.#stuck) if (!waiting.has(task)) this.#stuck.delete(task);
    return [...waiting].sort((a, b) => this.#triesOf(a) - this.#triesOf(b));
  }

  #mayNot(task: string): boolean {
    return task === this.#open || this.#stuck.has(task);
  }

  /** Whether the server takes us for whom these words are of: the page may only have known who was here last. */
  async #isTheirs(): Promise<boolean> {
    return await this.api.me().then(
      ({ id }) => id === this.shelf.me.id,
      () => false,
    );
  }

  #triesOf(task: string): number {
    return this.#tries.get(task) ?? 0;
  }

  /** Whether to go on with the next. What knows documents is fetched where there is any to send. */
  async #sendOne(task: string): Promise<boolean> {
    try {
      const [{ readCopy }, { toBase64 }, Y] = await Promise.all([import("./local_copy"), import("lib0/buffer"), import("yjs")]);
      const found = this.#find(task);
      if (!found) return true;
      const copy = await readCopy(found.name);
      if (this.#find(task)?.name !== found.name) return true;
      if (!copy || copy.broken) throw new Problem(422, "invalid", "");
      const update = Y.encodeStateAsUpdate(copy.doc, copy.reached ?? undefined);
      if (update.length > LONGEST) throw new Problem(413, "too_large", "");
      const body = { update: toBase64(update), generation: found.generation };
      await this.api.ask("POST", `/tasks/${encodeURIComponent(task)}/updates`, body);
      await this.#note(task, found.name, copy.doc);
    } catch (error) {
      if (!(error instanceof Problem) || isForNow(error)) return false;
      this.#stuck.add(task);
    }
    return true;
  }

  /** The copy to send from; null where it was let go of, or somebody else has come in meanwhile. */
  #find(task: string): { name: string; generation: number } | null {
    const kept = this.shelf.isCurrent ? this.shelf.find(task) : null;
    return kept && { name: this.shelf.nameOf(task, kept.generation, kept.copy), generation: kept.generation };
  }

  /** So much is through. It may have been opened meanwhile, here or in another tab, and gone on, or have been given up. */
  async #note(task: string, name: string, sent: Doc): Promise<void> {
    if (this.#find(task)?.name !== name) return;
    const [{ LocalCopy }, Y] = await Promise.all([import("./local_copy"), import("yjs")]);
    // before the look at the copy: who writes after it marks the task anew
    if (task !== this.#open) this.shelf.mark(task, false);
    const now = await LocalCopy.open(name, new Y.Doc());
    now.note(Y.encodeStateVector(sent));
    const isAll = Y.equalSnapshots(Y.snapshot(now.doc), Y.snapshot(sent)); // what was only deleted moves no clock
    if (!isAll && task !== this.#open && this.#find(task)?.name === name) this.shelf.mark(task, true);
    now.close();
  }
}
