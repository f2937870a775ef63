/**
 * A document's copy on this device, in IndexedDB. Owns the truth about whether what was written here is in it; must never
 * stop the document from syncing: where nothing can be kept (a private window, a full disk, a database that the browser
 * closed) the page goes on without, and says so.
 *
 * It is our own, and small, because y-indexeddb throws inside the document's update event once its database is closed, so
 * that what was typed is neither stored nor sent (yjs#650), never says that a write failed, and opens nothing at all if one
 * record cannot be read.
 */

import * as Y from "yjs";

/** `kept`: all of it is on disk. `writing`: about to be. `failed`: nothing more is stored. */
export type Keeping = "kept" | "writing" | "failed";

const UPDATES = "updates";
const FACTS = "facts";
const REACHED = "reached";
/** A browser whose disk hangs must not keep the task from opening. */
const PATIENCE = 4_000;
/** So many records are made into one. */
export const MANY = 400;

export class LocalCopy {
  /** How far the document had reached the server when it last said so, as a state vector. */
  reached: Uint8Array | null = null;
  /** Records that could not be read. They stay where they are. */
  broken = 0;
  onchange: () => void = () => undefined;

  #database: IDBDatabase | null = null;
  #waiting: Uint8Array[] = [];
  #noted: Uint8Array | null = null;
  #records = 0;
  #writing: Promise<void> | null = null;
  #over = false;

  private constructor(
    readonly name: string,
    readonly doc: Y.Doc,
  ) {}

  /** Read what is there into the document, and keep what comes. Never rejects: look at `keeping`. */
  static async open(name: string, doc: Y.Doc): Promise<LocalCopy> {
    const copy = new LocalCopy(name, doc);
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error("the browser's storage does not answer")), PATIENCE),
    );
    try {
      await Promise.race([copy.#connect().then(() => copy.#load()), late]);
    } catch {
      copy.#fail();
    }
    if (!copy.#over) doc.on("update", copy.#heard);
    return copy;
  }

  get keeping(): Keeping {
    if (this.#over) return "failed";
    return this.#waiting.length || this.#writing ? "writing" : "kept";
  }

  /** Note how far the document has reached the server. */
  note(reached: Uint8Array): void {
    this.reached = reached;
    this.#noted = reached;
    void this.#write();
  }

  /** All that is there, readable or not. */
  async records(): Promise<Uint8Array[]> {
    if (!this.#database) return [];
    const transaction = this.#database.transaction(UPDATES);
    return await answerOf(transaction.objectStore(UPDATES).getAll() as IDBRequest<Uint8Array[]>);
  }

  /** Let go of what cannot be read: the document as it is now takes the place of all records. */
  async mend(): Promise<void> {
    if (!this.#database) return;
    const transaction = this.#database.transaction(UPDATES, "readwrite");
    transaction.objectStore(UPDATES).clear();
    transaction.objectStore(UPDATES).add(Y.encodeStateAsUpdate(this.doc));
    await endOf(transaction);
    this.broken = 0;
    this.#records = 1;
    this.onchange();
  }

  /** Stop keeping; what is there stays. */
  close(): void {
    this.doc.off("update", this.#heard);
    this.onchange = () => undefined;
    void this.#write().then(() => this.#database?.close());
  }

  /** Keep nothing more, not even what is about to be written. */
  abandon(): void {
    this.onchange = () => undefined;
    this.#fail();
  }

  readonly #heard = (update: Uint8Array, origin: unknown): void => {
    if (origin === this || this.#over) return;
    this.#waiting.push(update);
    void this.#write();
  };

  async #connect(): Promise<void> {
    const request = indexedDB.open(this.name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(UPDATES, { autoIncrement: true });
      request.result.createObjectStore(FACTS);
    };
    const database = await answerOf(request);
    // whoever deletes it (signing out in another tab) must not wait for this one, and finds it gone
    database.onversionchange = () => this.#fail();
    database.onclose = () => (this.#database = null);
    this.#database = database;
  }

  async #load(): Promise<void> {
    const transaction = this.#database!.transaction([UPDATES, FACTS]);
    const [updates, reached] = await Promise.all([
      answerOf(transaction.objectStore(UPDATES).getAll() as IDBRequest<Uint8Array[]>),
      answerOf(transaction.objectStore(FACTS).get(REACHED) as IDBRequest<Uint8Array | undefined>),
    ]);
    this.reached = reached ?? null;
    this.#records = updates.length;
    this.broken = applyAll(this.doc, updates, this);
  }

  #write(): Promise<void> {
    this.#writing ??= this.#drain();
    return this.#writing;
  }

  async #drain(): Promise<void> {
    while (!this.#over && (this.#waiting.length || this.#noted)) {
      const [updates, noted] = [this.#waiting.splice(0), this.#noted];
      this.#noted = null;
      this.onchange();
      await this.#store(updates, noted).catch(() => this.#fail());
    }
    if (!this.#over && this.#records > MANY && !this.broken) await this.#compact().catch(() => this.#fail());
    this.#writing = null;
    this.onchange();
  }

  /** One transaction; a database that the browser closed is opened again, once. */
  async #store(updates: Uint8Array[], noted: Uint8Array | null): Promise<void> {
    try {
      await this.#put(updates, noted);
    } catch {
      if (this.#over) throw new Error("given up");
      await this.#connect();
      await this.#put([Y.encodeStateAsUpdate(this.doc)], noted);
    }
    this.#records += updates.length;
  }

  async #put(updates: Uint8Array[], noted: Uint8Array | null): Promise<void> {
    const transaction = this.#database!.transaction([UPDATES, FACTS], "readwrite");
    for (const update of updates) transaction.objectStore(UPDATES).add(update);
    if (noted) transaction.objectStore(FACTS).put(noted, REACHED);
    await endOf(transaction);
  }

  /** All records, also those of other tabs, as one, in one transaction. */
  async #compact(): Promise<void> {
    const transaction = this.#database!.transaction(UPDATES, "readwrite");
    const store = transaction.objectStore(UPDATES);
    const all = store.getAll() as IDBRequest<Uint8Array[]>;
    all.onsuccess = () => {
      const whole = new Y.Doc();
      if (applyAll(whole, all.result, this)) return;
      store.clear();
      store.add(Y.encodeStateAsUpdate(whole));
      this.#records = 1;
    };
    await endOf(transaction);
  }

  #fail(): void {
    this.#over = true;
    this.#waiting = [];
    this.doc.off("update", this.#heard);
    this.#database?.close();
    this.onchange();
  }
}

/** Read another copy without keeping it open; null where there is none. `broken`: so many records could not be read. */
export async function readCopy(name: string): Promise<{ doc: Y.Doc; reached: Uint8Array | null; broken: number } | null> {
  const doc = new Y.Doc();
  const copy = await LocalCopy.open(name, doc);
  const isThere = copy.keeping !== "failed" && doc.store.clients.size > 0;
  copy.close();
  return isThere ? { doc, reached: copy.reached, broken: copy.broken } : null;
}

/** Whether a document holds more than a state vector covers; where there is none, nobody can tell. */
export function isBeyond(doc: Y.Doc, reached: Uint8Array | null): boolean {
  if (!reached) return false;
  const known = Y.decodeStateVector(reached);
  return [...Y.decodeStateVector(Y.encodeStateVector(doc))].some(([client, clock]) => clock > (known.get(client) ?? 0));
}

/** How many could not be read. */
function applyAll(doc: Y.Doc, updates: Uint8Array[], origin: unknown): number {
  let broken = 0;
  for (const update of updates) {
    try {
      Y.applyUpdate(doc, update, origin);
    } catch {
      broken += 1;
    }
  }
  return broken;
}

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("storage failed"));
  });
}

function endOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("storage failed"));
  });
}
