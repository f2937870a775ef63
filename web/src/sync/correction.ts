/**
 * One entry's words put right without opening the task on the screen. Owns that it is only called done when the server has it
 * on disk; must never overwrite what somebody changed meanwhile.
 */

import * as Y from "yjs";

import { root, type Root } from "../doc/schema";
import { leastChange } from "../doc/text_change";
import { entriesOf, words } from "../doc/values";
import type { Api, Person } from "./api";
import { TaskSync, type Options } from "./task_sync";

export type Corrected = "done" | "changed meanwhile" | "refused";

export interface Correction {
  root: Extract<Root, "constraints" | "decisions" | "questions" | "slots">;
  id: string;
  before: string;
  after: string;
}

/** Rejects if the server cannot be reached in time. */
export async function correct(
  api: Api,
  me: Person,
  task: string,
  correction: Correction,
  connection: Pick<Options, "server" | "Socket">,
): Promise<Corrected> {
  const ticket = async (): Promise<string> => (await api.ticket(task, null)).ticket;
  const sync = new TaskSync({ ...connection, task, ticket, user: { id: me.id, name: me.name, kind: "user" } });
  try {
    await until(sync, () => sync.light.kind === "saved");
    const text = textOf(sync.doc, correction);
    if (!text || words(text) !== correction.before) return "changed meanwhile";
    const change = leastChange(correction.before, correction.after, correction.after.length);
    sync.doc.transact(() => {
      if (change?.remove) text.delete(change.at, change.remove);
      if (change?.insert) text.insert(change.at, change.insert);
    });
    await until(sync, () => sync.light.kind === "saved" || sync.light.kind === "refused");
    return sync.light.kind === "saved" ? "done" : "refused";
  } finally {
    sync.destroy();
  }
}

function textOf(doc: Y.Doc, { root: name, id }: Correction): Y.Text | null {
  const entry = root(doc, name).get(id);
  const fields = name === "slots" && entry instanceof Y.Map ? entry.get("fields") : entry;
  const text = entriesOf(fields).find(([key]) => key === "text")?.[1];
  return text instanceof Y.Text ? text : null;
}

const PATIENCE = 12_000;

function until(sync: TaskSync, holds: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the server does not answer")), PATIENCE);
    const look = (): void => {
      if (!holds()) return;
      clearTimeout(timer);
      resolve();
    };
    sync.on("light", look);
    sync.on("ended", ({ reason }) => (clearTimeout(timer), reject(new Error(reason))));
    look();
  });
}
