/**
 * A task as this tab has it open: its document over a connection, its copy on this device, and what had to be set aside.
 * Owns that words written here are never lost and never mixed: where the server restored, repaired or erased the document
 * (a newer generation), or refuses for good what this device has (4400, 4409, 4413), the old document stays aside, a fresh
 * one is opened, and what never got through is offered. Must never send a document of an older generation.
 */

import * as Y from "yjs";

import { lostBetween, type Lost } from "../doc/unsent";
import { Problem, type Api, type Task, type Ticket } from "./api";
import { isBeyond, LocalCopy, readCopy, type Keeping } from "./local_copy";
import { Neighbours } from "./neighbours";
import type { Told } from "./notices";
import type { Session } from "./session";
import type { Shelf, Why } from "./shelf";
import { TaskSync, type Options } from "./task_sync";
import type { End } from "./ticket_socket";

/** Close codes after which this document is never taken again, though the task may be open. */
const REFUSED = new Set([4400, 4409, 4413]);
/** Close codes by which a task is closed to whoever has it open. */
const OUT = new Set([4403, 4404]);
/** Two of them within this time are the server's trouble, or ours: a third document would not help. */
const AGAIN = 60_000;

export function mayWrite(role: Task["role"] | undefined): boolean {
  return role === "editor" || role === "owner";
}

/** A server that takes longer than this to say what it knows of a task is not waited for where there is a copy. */
const SOON = 1_500;

/**
 * What the server says of a task, or what was known of it when it was last open. One that may not be seen any more is
 * forgotten, unless there are words in its copy that were never sent: those stay to be read.
 */
async function knownOr(kept: { task: Task; unsent: boolean }, asked: Promise<Task>, forget: () => void): Promise<Task> {
  try {
    return await Promise.race([asked, new Promise<Task>((resolve) => setTimeout(() => resolve(kept.task), SOON))]);
  } catch (error) {
    if (!(error instanceof Problem) || error.code === "unauthenticated") throw error;
    if (error.code === "unavailable") return kept.task;
    if (kept.unsent) return { ...kept.task, role: "viewer" };
    forget();
    throw error;
  }
}

/** What of a copy is through. An older generation may have more than the one that follows, also of what was confirmed. */
function throughOf(why: Why, reached: Uint8Array | null): Uint8Array | null {
  return why === "older" ? null : reached;
}

/** What never got through, and whether it was the server's document or ours that was given up. */
export interface Offer {
  name: string;
  why: Why;
  lost: Lost[];
}

/** `swapped`: there is another document now. `changed`: look again. */
type Events = { swapped: null; changed: null; ended: End };

export interface Opening {
  api: Api;
  session: Session;
  shelf: Shelf;
  task: string;
  server: string;
  Socket?: typeof WebSocket;
}

export class OpenTask {
  /** Who may do what, as the server last said; from this device while it cannot be asked. */
  known: Task;
  sync!: TaskSync;
  copy!: LocalCopy;
  offers: Offer[] = [];

  readonly #listeners = new Map<keyof Events, Set<(value: never) => void>>();
  #neighbours: Neighbours | null = null;
  #generation: number;
  #ticketInHand: Ticket | null;
  #refusedAt = -Infinity;
  #isOver = false;

  private constructor(
    private readonly opening: Opening,
    known: Task,
    generation: number,
    ticket: Ticket | null,
  ) {
    this.known = known;
    this.#generation = generation;
    this.#ticketInHand = ticket;
  }

  /** Open from this device's copy, or from the server; a Problem if neither has the task, or the server will not give it. */
  static async open(opening: Opening): Promise<OpenTask> {
    const { api, shelf, task, session } = opening;
    const kept = shelf.find(task);
    const asked = api.task(task);
    if (kept) {
      const opened = new OpenTask(opening, await knownOr(kept, asked, () => shelf.forget(task)), kept.generation, null);
      void asked.then(
        (known) => opened.#know(known),
        () => undefined,
      );
      await opened.#start(new Y.Doc());
      return opened;
    }
    const known = await asked;
    await session.attach(task);
    const ticket = await api.ticket(task, session.id);
    const opened = new OpenTask(opening, known, ticket.generation, ticket);
    await opened.#start(new Y.Doc());
    return opened;
  }

  get generation(): number {
    return this.#generation;
  }

  get keeping(): Keeping {
    return this.copy.keeping;
  }

  /** Whether closing this tab now would lose words: not on the server's disk, nor on this device's. */
  get wouldLose(): boolean {
    return this.sync.unsaved && this.copy.keeping !== "kept";
  }

  on<K extends keyof Events>(name: K, listener: (value: Events[K]) => void): void {
    this.#listeners.set(name, (this.#listeners.get(name) ?? new Set()).add(listener as (value: never) => void));
  }

  /** Forget what was offered; it was put back, or is not wanted. */
  settle(offer: Offer): void {
    this.offers = this.offers.filter((other) => other !== offer);
    this.opening.shelf.drop(this.opening.task, offer.name);
    this.#emit("changed", null);
  }

  /** Try again after an end for good, because something has changed; what was offered for it goes the ordinary way. */
  reopen(): void {
    this.offers = this.offers.filter(({ why }) => why !== "ended");
    this.#shown.delete(this.copy.name);
    this.sync.allow();
    this.sync.reconnect();
  }

  close(): void {
    this.#isOver = true;
    this.#listeners.clear();
    this.#neighbours?.close();
    this.copy.close();
    this.sync.destroy();
  }

  /** End it for good, as somebody who may not have it any more: what was not sent, and then nothing is kept or heard. */
  abandon(): Lost[] {
    const unsent = this.sync.unsaved ? lostBetween(this.sync.doc, new Y.Doc(), this.copy.reached) : [];
    this.#isOver = true;
    this.#listeners.clear();
    this.#neighbours?.close();
    this.copy.abandon();
    this.sync.destroy();
    return unsent;
  }

  #know(known: Task): void {
    if (this.#isOver) return;
    this.known = known;
    this.opening.shelf.open(known, this.#generation);
    this.#emit("changed", null);
  }

  async #start(doc: Y.Doc): Promise<void> {
    const { shelf, task, server, Socket } = this.opening;
    const kept = shelf.open(this.known, this.#generation);
    this.copy = await LocalCopy.open(shelf.nameOf(task, this.#generation, kept.copy), doc);
    this.copy.onchange = () => this.#emit("changed", null);
    const options: Options = {
      server,
      task,
      doc,
      unsent: doc.store.clients.size > 0 && (kept.unsent || isBeyond(doc, this.copy.reached)),
      ticket: () => this.#ticket(),
      user: { id: shelf.me.id, name: shelf.me.name, kind: "user" },
      ...(Socket ? { Socket } : {}),
    };
    const sync = (this.sync = new TaskSync(options));
    doc.on("update", (_update: Uint8Array, origin: unknown) => {
      if (origin !== sync.provider && origin !== this.copy) shelf.mark(task, true);
    });
    sync.on("reached", (reached) => {
      this.copy.note(reached);
      if (!sync.unsaved) shelf.mark(task, false);
    });
    sync.on("synced", () => void this.#offerOlder(sync));
    sync.on("ended", (end) => this.#ended(end));
    sync.on("role", (told) => this.#told(told));
    const neighbours = (this.#neighbours = new Neighbours(this.copy.name, doc, () => sync.light.kind === "offline"));
    sync.on("light", ({ kind }) => kind === "offline" && neighbours.ask());
    if (sync.light.kind === "offline") neighbours.ask();
  }

  /** The server says at once what one may do here from now on. */
  #told({ task, role }: Told): void {
    if (task !== this.opening.task) return;
    this.#know({ ...this.known, role });
    if (mayWrite(role)) this.sync.allow();
  }

  async #ticket(): Promise<string> {
    const { api, session, shelf, task } = this.opening;
    if (!shelf.isCurrent) throw new Problem(0, "unavailable", "somebody else has signed in here");
    let ticket = this.#ticketInHand;
    this.#ticketInHand = null;
    if (!ticket) {
      await session.attach(task);
      ticket = await api.ticket(task, session.id);
      // a role may have changed since; a lease ends every ten minutes, so it is not long out of date
      api.task(task).then(
        (known) => this.#know(known),
        () => undefined,
      );
    }
    if (ticket.generation === this.#generation) return ticket.ticket;
    this.#ticketInHand = ticket;
    setTimeout(() => void this.#startAfresh("older", ticket.generation));
    throw new Problem(0, "unavailable", "the task's document was replaced");
  }

  #ended(end: End): void {
    const now = performance.now();
    this.#neighbours?.close();
    if (OUT.has(end.code)) this.#offerUnsent();
    if (!REFUSED.has(end.code) || now - this.#refusedAt < AGAIN) return this.#emit("ended", end);
    this.#refusedAt = now;
    void this.#startAfresh("refused", this.#generation);
  }

  /** Who is out keeps the words that nobody else has, to take them elsewhere. */
  #offerUnsent(): void {
    const { sync, copy } = this;
    const lost = sync.unsaved && !this.#shown.has(copy.name) ? lostBetween(sync.doc, new Y.Doc(), copy.reached) : [];
    if (lost.length) this.#offer(copy.name, "ended", lost);
  }

  async #startAfresh(why: Why, generation: number): Promise<void> {
    if (this.#isOver || (why === "older" && generation === this.#generation)) return;
    const { sync, copy } = this;
    const { shelf, task } = this.opening;
    const wasUnsent = sync.unsaved;
    sync.leave();
    this.#neighbours?.close();
    copy.close();
    shelf.setAside(task, copy.name, why, generation);
    this.#generation = generation;
    await this.#start(new Y.Doc());
    if (this.#isOver) return this.close();
    const fresh = this.sync;
    fresh.on("synced", () => void this.#offerOld(why, { doc: sync.doc, copy, wasUnsent }, fresh.doc));
    this.#emit("swapped", null);
  }

  /** What this tab had, and what other tabs of this browser had put into the same copy. */
  async #offerOld(why: Why, { doc, copy, wasUnsent }: { doc: Y.Doc; copy: LocalCopy; wasUnsent: boolean }, fresh: Y.Doc) {
    if (this.#shown.has(copy.name)) return;
    this.#shown.add(copy.name);
    const through = throughOf(why, wasUnsent ? copy.reached : Y.encodeStateVector(doc));
    const kept = await readCopy(copy.name);
    const hasMore = why === "older" || (kept !== null && isBeyond(kept.doc, Y.encodeStateVector(doc)));
    if (kept) Y.applyUpdate(doc, Y.encodeStateAsUpdate(kept.doc));
    if (!this.#isOver) this.#offer(copy.name, why, wasUnsent || hasMore ? lostBetween(doc, fresh, through) : []);
  }

  readonly #shown = new Set<string>();

  /** What earlier visits had set aside. */
  async #offerOlder(sync: TaskSync): Promise<void> {
    const { shelf, task } = this.opening;
    for (const { name, why } of shelf.find(task)?.asides ?? []) {
      if (this.#shown.has(name) || name === this.copy.name) continue;
      const kept = await readCopy(name);
      if (this.sync !== sync || this.#shown.has(name)) return;
      this.#offer(name, why, kept ? lostBetween(kept.doc, sync.doc, throughOf(why, kept.reached)) : []);
    }
  }

  #offer(name: string, why: Why, lost: Lost[]): void {
    this.#shown.add(name);
    if (lost.length) this.offers = [...this.offers, { name, why, lost }];
    else this.opening.shelf.drop(this.opening.task, name);
    this.#emit("changed", null);
  }

  #emit<K extends keyof Events>(name: K, value: Events[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) (listener as (value: Events[K]) => void)(value);
  }
}
