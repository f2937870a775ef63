/**
 * What was said in a task. Owns the order of messages, which is that of `crdt_docs/contents.py`, and the reading of what an
 * agent's answer refers to; must never drop a message for being odd.
 */

import * as Y from "yjs";

import { timeOf } from "./ids";
import { root } from "./schema";
import { eachEntry, LATE, moment, short, words } from "./values";

/** What an answer says of the messages it answers: filed as which entry, left unfiled, that another mind had to do, or that a person took back. */
export type Ref =
  | { kind: "filed"; entry: string; id: string; source: string | null }
  | { kind: "unfiled"; quote: string; source: string | null }
  | { kind: "fell back"; why: string }
  | { kind: "undone"; by: string; left: string[] }
  | { kind: "message"; id: string };

export interface Message {
  id: string;
  text: string;
  author: string | null;
  role: string;
  session: string | null;
  turn: string | null;
  at: number | null;
  refs: Ref[];
}

export function readMessages(doc: Y.Doc): Message[] {
  const found = eachEntry(root(doc, "messages")).map(([id, fields]): Message => ({
    id,
    text: words(fields.get("text")),
    author: short(fields.get("author")),
    role: short(fields.get("role")) ?? "user",
    session: short(fields.get("session")),
    turn: short(fields.get("turn")),
    at: moment(fields.get("at")) ?? timeOf(id),
    refs: readRefs(fields.get("refs")),
  }));
  return found.sort((a, b) => compareMessages(a.id, b.id));
}

/** UUIDv7 ids begin with their time; ids of another make come last, by name. */
export function compareMessages(a: string, b: string): number {
  return (timeOf(a) ?? LATE) - (timeOf(b) ?? LATE) || (a < b ? -1 : a > b ? 1 : 0);
}

export function readRefs(value: unknown): Ref[] {
  const list: unknown = value instanceof Y.Array ? value.toJSON() : value;
  return Array.isArray(list) ? list.flatMap(readRef) : [];
}

function readRef(value: unknown): Ref[] {
  if (typeof value === "string") return [{ kind: "message", id: value }];
  const ref = (value ?? {}) as Record<string, unknown>;
  const text = (name: string): string | null => (typeof ref[name] === "string" && ref[name] ? (ref[name] as string) : null);
  const [filed, id, unfiled, why] = [text("filed"), text("id"), text("unfiled"), text("fell_back")];
  if (filed && id) return [{ kind: "filed", entry: filed, id, source: text("source") }];
  if (unfiled) return [{ kind: "unfiled", quote: unfiled, source: text("source") }];
  const [undone, left] = [text("undone"), ref["left"]];
  if (undone) return [{ kind: "undone", by: undone, left: Array.isArray(left) ? left.filter((one) => typeof one === "string") : [] }];
  return why ? [{ kind: "fell back", why }] : [];
}
