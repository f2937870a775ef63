/**
 * What the page adds to a working set. Owns the fields of each new entry, as `crdt_docs/entries.py` does; must never
 * overwrite what somebody wrote: words are changed by `text_change`, everything else is an entry beside the others.
 */

import * as Y from "yjs";

import { compareMessages } from "./conversation";
import { orderedId, timeOf } from "./ids";
import { root, type Root } from "./schema";

/** The origin of these writes: what undo in the ledger takes back. */
export const LEDGER = Symbol("ledger");

export const SEVERITIES = ["critical", "important", "normal"] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Writer {
  name: string;
  session?: string | null;
}

type Value = Y.Text | Y.Map<unknown> | string | number | readonly string[] | null | undefined;

function put(parent: Y.Map<unknown>, id: string, fields: Record<string, Value>): void {
  const entry = new Y.Map<unknown>();
  parent.set(id, entry);
  for (const [name, value] of Object.entries(fields)) if (value !== null && value !== undefined) entry.set(name, value);
}

function add(doc: Y.Doc, name: Root, fields: Record<string, Value>, id = orderedId()): string {
  doc.transact(() => put(root(doc, name), id, fields), LEDGER);
  return id;
}

const trace = (who: Writer) => ({ by: who.name, at: Date.now() });
const some = (list: readonly string[]): string | readonly string[] | null =>
  list.length === 1 ? list[0]! : list.length ? list : null;

/** Say something. It is not undone with the ledger: what was said was said. */
export function addMessage(doc: Y.Doc, text: string, who: Writer): string {
  const last = [...root(doc, "messages").keys()]
    .filter((id) => timeOf(id) !== null)
    .sort(compareMessages)
    .at(-1);
  const id = orderedId(Date.now(), last ? timeOf(last)! + 1 : 0);
  doc.transact(() =>
    put(root(doc, "messages"), id, {
      author: who.name,
      role: "user",
      session: who.session,
      at: Date.now(),
      text: new Y.Text(text),
    }),
  );
  return id;
}

export function addConstraint(doc: Y.Doc, text: string, severity: string, who: Writer, source?: string | null): string {
  return add(doc, "constraints", { text: new Y.Text(text), severity, source, ...trace(who), retired: new Y.Map() });
}

export interface DecisionNew {
  topic?: string | null;
  supersedes?: readonly string[];
  source?: string | null;
}

export function decide(doc: Y.Doc, text: string, more: DecisionNew, who: Writer): string {
  const { topic, supersedes = [], source } = more;
  return add(doc, "decisions", { text: new Y.Text(text), topic, supersedes: some(supersedes), source, ...trace(who) });
}

export function ask(doc: Y.Doc, text: string, who: Writer): string {
  return add(doc, "questions", { text: new Y.Text(text), ...trace(who), answers: new Y.Map(), dropped: new Y.Map() });
}

export function addStep(doc: Y.Doc, text: string, who: Writer, source?: string | null): string {
  const fields = new Y.Map<unknown>(Object.entries({ text: new Y.Text(text), ...trace(who), ...(source ? { source } : {}) }));
  return add(doc, "slots", { intent: "next_step", state: "open", fields });
}

/** Answer a question, in place of those answers. */
export function answer(doc: Y.Doc, question: string, text: string, supersedes: readonly string[], who: Writer): void {
  const fields = { text: new Y.Text(text), supersedes: supersedes.length ? supersedes : null, ...trace(who) };
  doc.transact(() => {
    const answers = inner(doc, "questions", question, "answers");
    if (answers) put(answers, orderedId(), fields);
  }, LEDGER);
}

/** What can be taken back, and where the note of it goes. */
const TAKEN_BACK = { constraints: "retired", questions: "dropped", documents: "retired" } as const;
type Retractable = keyof typeof TAKEN_BACK;

/** Retire a constraint, drop a question or take a document away: a note beside it, by whom and when. */
export function takeBack(doc: Y.Doc, name: Retractable, id: string, who: Writer): void {
  doc.transact(() => {
    const notes = inner(doc, name, id, TAKEN_BACK[name]);
    if (notes) put(notes, orderedId(), trace(who));
  }, LEDGER);
}

/** Let it stand again: the notes go. */
export function putBack(doc: Y.Doc, name: Retractable, id: string): void {
  doc.transact(() => inner(doc, name, id, TAKEN_BACK[name])?.clear(), LEDGER);
}

export function setStep(doc: Y.Doc, id: string, state: "open" | "done" | "dropped"): void {
  const step = root(doc, "slots").get(id);
  if (step instanceof Y.Map) doc.transact(() => void step.set("state", state), LEDGER);
}

/** A map inside an entry; made where a stock client left it out. */
function inner(doc: Y.Doc, name: Root, id: string, field: string): Y.Map<unknown> | null {
  const entry = root(doc, name).get(id);
  if (!(entry instanceof Y.Map)) return null;
  const found: unknown = entry.get(field);
  if (found instanceof Y.Map) return found as Y.Map<unknown>;
  return entry.set(field, new Y.Map<unknown>());
}

/** Takes back what this page did to the ledger, and nothing of others. */
export function ledgerUndo(doc: Y.Doc): Y.UndoManager {
  const roots = (["constraints", "decisions", "questions", "slots"] as const).map((name) => root(doc, name));
  return new Y.UndoManager(roots, { trackedOrigins: new Set([LEDGER]), captureTimeout: 0 });
}
