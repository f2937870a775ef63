/**
 * This tab's session: one from the tab's start to its end, whatever tasks it visits. Owns the session's id; must never be
 * taken for the unit of memory, which is the task.
 */

import { Problem, type Api, type Candidate } from "./api";

const KEY = "clew.session";

export class Session {
  #id: string | null;

  constructor(
    private readonly api: Api,
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem"> = sessionStorage,
  ) {
    this.#id = storage.getItem(KEY);
  }

  get id(): string | null {
    return this.#id;
  }

  /** Put the session on a task, or on none; starts one where there is none, or where the server has ended it. */
  async attach(task: string | null): Promise<void> {
    const id = this.#id ?? (await this.#start());
    try {
      await this.api.attach(id, task);
    } catch (error) {
      if (!(error instanceof Problem) || !["not_found", "conflict"].includes(error.code)) throw error;
      // the task may be what is missing: then a new session's attach says so
      await this.api.attach(await this.#start(), task);
    }
  }

  /** Begin anew, as a page does that is opened at no task: which ones may it be about, the likeliest first? */
  async begin(): Promise<Candidate[]> {
    const { id, candidates } = await this.api.newSession();
    this.#id = id;
    this.storage.setItem(KEY, id);
    return candidates;
  }

  async #start(): Promise<string> {
    await this.begin();
    return this.#id!;
  }
}
