/**
 * What this browser keeps of one person's tasks: which copies there are, of which generation, whether all of each was sent,
 * and what was set aside. Owns the names of the copies; must never hold a secret, nor outlive a sign-out.
 */

import type { Me, Task } from "./api";
import type { Where } from "./where";

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Why a document was set aside: an older generation, refused for good, or (`ended`) taken from its person. */
export type Why = "older" | "refused" | "ended";

export interface Aside {
  name: string;
  why: Why;
  at: number;
}

/** `untold` while the server does not know of it. */
interface Place extends Where {
  untold?: boolean;
}

interface Kept {
  task: Task;
  generation: number;
  /** Counts up when a document of the same generation has to be begun afresh. */
  copy: number;
  unsent: boolean;
  opened: number;
  asides: Aside[];
  /** Where one was in it on this device. */
  place?: Place;
}

const ME = "clew.me";
const MOST = 40;

export class Shelf {
  readonly #key: string;
  readonly #brought = new Map<string, Where>();

  constructor(
    readonly me: Me,
    private readonly storage: Store = localStorage,
  ) {
    this.#key = `clew.kept.${me.id}`;
    write(storage, ME, me);
    if (!this.isCurrent) remove(storage, ME); // it is full: then nobody is known, rather than somebody else
  }

  /** Who was here last: whose copies are shown while the server cannot be asked. */
  static lastPerson(storage: Store = localStorage): Me | null {
    const me = read(storage, ME) as Partial<Me> | null;
    if (typeof me?.id !== "string" || typeof me.name !== "string") return null;
    return { id: me.id, name: me.name, device: me.device ?? null, continuation: me.continuation !== false };
  }

  /** Whether nobody else has come in here since, in another tab: then requests are theirs, and so would be the words. */
  get isCurrent(): boolean {
    const last = Shelf.lastPerson(this.storage);
    return !last || last.id === this.me.id;
  }

  /** The tasks of which there is a copy, the last opened first. */
  tasks(): Task[] {
    return Object.values(this.#all())
      .sort((a, b) => b.opened - a.opened)
      .map((kept) => kept.task);
  }

  /** The names of the copies of which not all was sent, or that were set aside, of all tasks but one. */
  unsent(except?: string): string[] {
    return Object.values(this.#all())
      .filter((kept) => kept.task.id !== except)
      .flatMap((kept) => [
        ...(kept.unsent ? [this.nameOf(kept.task.id, kept.generation, kept.copy)] : []),
        ...kept.asides.map(({ name }) => name),
      ]);
  }

  /** The tasks of which not all that was written here was sent. */
  waiting(): ReadonlySet<string> {
    return new Set(Object.values(this.#all()).flatMap((kept) => (kept.unsent ? [kept.task.id] : [])));
  }

  find(task: string): Readonly<Kept> | null {
    return this.#all()[task] ?? null;
  }

  /** The name of the copy of a task's document. */
  nameOf(task: string, generation: number, copy: number): string {
    return `clew:${this.me.id}:${task}:${generation}:${copy}`;
  }

  /** Note a task that was opened, and forget copies of old ones that were sent whole. */
  open(task: Task, generation: number): Readonly<Kept> {
    const all = this.#all();
    const known = all[task.id];
    const kept: Kept = { copy: 0, unsent: false, asides: [], ...known, task, generation, opened: Date.now() };
    all[task.id] = kept;
    const old = Object.values(all)
      .sort((a, b) => b.opened - a.opened)
      .slice(MOST)
      .filter((one) => !one.unsent && !one.asides.length);
    this.#write(all);
    for (const one of old) this.forget(one.task.id);
    return kept;
  }

  /** Note where somebody is in a task, and whether the server has been told. */
  leaveAt(task: string, where: Where, untold: boolean): void {
    const all = this.#all();
    const kept = all[task];
    const place: Place = untold ? { ...where, untold } : where;
    if (!kept || JSON.stringify(kept.place) === JSON.stringify(place)) return;
    kept.place = place;
    this.#write(all);
  }

  /** Bring somebody to where they were last on any device, at the next opening; further on than what only this one knows. */
  bring(task: string, where: Where): void {
    if (!this.find(task)?.place?.untold) this.#brought.set(task, where);
  }

  /** Where to begin in a task, and whether one is brought there rather than back where this device was. */
  placeIn(task: string): { where: Where | null; isBrought: boolean } {
    const brought = this.#brought.get(task);
    this.#brought.delete(task);
    const { untold: _, ...where } = this.find(task)?.place ?? { panel: "", document: "" };
    return { where: brought ?? (where.panel ? where : null), isBrought: brought !== undefined };
  }

  mark(task: string, unsent: boolean): void {
    const all = this.#all();
    const kept = all[task];
    if (!kept || kept.unsent === unsent) return;
    kept.unsent = unsent;
    this.#write(all);
  }

  /** Set a copy aside, so that the task's next is a fresh one; another tab may have done so before. */
  setAside(task: string, name: string, why: Why, generation: number): void {
    const all = this.#all();
    const kept = all[task];
    if (!kept) return;
    if (!kept.asides.some((aside) => aside.name === name)) kept.asides.push({ name, why, at: Date.now() });
    const isCurrent = name === this.nameOf(task, kept.generation, kept.copy);
    if (generation !== kept.generation) Object.assign(kept, { copy: 0, generation, unsent: false });
    else if (isCurrent) Object.assign(kept, { copy: kept.copy + 1, unsent: false });
    this.#write(all);
  }

  /** Let go of all copies of a task. */
  forget(task: string): void {
    const all = this.#all();
    const kept = all[task];
    if (!kept) return;
    void deleteCopy(this.nameOf(task, kept.generation, kept.copy));
    for (const { name } of kept.asides) void deleteCopy(name);
    delete all[task];
    this.#write(all);
  }

  drop(task: string, name: string): void {
    const all = this.#all();
    const kept = all[task];
    if (kept) kept.asides = kept.asides.filter((aside) => aside.name !== name);
    if (kept && name === this.nameOf(task, kept.generation, kept.copy)) kept.unsent = false;
    this.#write(all);
    void deleteCopy(name);
  }

  /** Forget everything of this person: signing out on a machine of somebody else must leave nothing. */
  async clear(): Promise<void> {
    const names = Object.values(this.#all()).flatMap((kept) => [
      this.nameOf(kept.task.id, kept.generation, kept.copy),
      ...kept.asides.map((aside) => aside.name),
    ]);
    remove(this.storage, this.#key);
    remove(this.storage, ME);
    const there = await everyName();
    await Promise.all(
      [...new Set([...names, ...there.filter((name) => name.startsWith(`clew:${this.me.id}:`))])].map(deleteCopy),
    );
  }

  #all(): Record<string, Kept> {
    return (read(this.storage, this.#key) as Record<string, Kept> | null) ?? {};
  }

  #write(all: Record<string, Kept>): void {
    write(this.storage, this.#key, all);
  }
}

/** A browser whose disk hangs must not keep anybody from signing out. */
const PATIENCE = 4_000;

/** Forget a copy. Resolves when it is gone, or when the browser will not say. */
async function deleteCopy(name: string): Promise<void> {
  await new Promise<void>((resolve) => {
    setTimeout(resolve, PATIENCE);
    try {
      const request = indexedDB.deleteDatabase(name);
      request.onsuccess = request.onerror = () => resolve();
    } catch {
      resolve();
    }
  });
}

async function everyName(): Promise<string[]> {
  try {
    return (await indexedDB.databases()).map((one) => one.name ?? "");
  } catch {
    return [];
  }
}

function read(storage: Store, key: string): unknown {
  try {
    return JSON.parse(storage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

function write(storage: Store, key: string, value: unknown): void {
  try {
    storage.setItem(key, JSON.stringify(value));
  } catch {
    return; // full or forbidden: then nothing is kept, and the light says so
  }
}

function remove(storage: Store, key: string): void {
  try {
    storage.removeItem(key);
  } catch {
    return;
  }
}
