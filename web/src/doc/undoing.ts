/**
 * Taking back what an agent filed for one answer, from any device and at any time. Owns that nothing is taken back that people
 * have changed since, or that was not this answer's: of that, only what it is called is said.
 */

import * as Y from "yjs";

import type { Message, Ref } from "./conversation";
import { LEDGER, type Writer } from "./entries";
import { readLedger } from "./ledger";
import { root, type Root } from "./schema";

type Filed = Extract<Ref, { kind: "filed" }>;

const ROOTS: Record<string, Root> = {
  constraint: "constraints",
  decision: "decisions",
  question: "questions",
  answer: "questions",
  next_step: "slots",
};

/** What is to be done about one entry: take it out, open a step again, or leave it since people changed it. */
type Step =
  | { do: "remove"; from: Y.Map<unknown>; id: string }
  | { do: "reopen"; step: Y.Map<unknown> }
  | { do: "leave"; id: string };

/** The decisions that others took the place of. */
export function replacedIn(doc: Y.Doc): ReadonlySet<string> {
  return new Set(readLedger(doc).decisions.flatMap((one) => one.supersedes));
}

/** Whether an answer has filed anything that can be taken back, and was not undone before. */
export function canUndo(doc: Y.Doc, message: Message, replaced = replacedIn(doc)): boolean {
  if (message.refs.some((ref) => ref.kind === "undone")) return false;
  return planOf(doc, message, replaced).some((step) => step.do !== "leave");
}

/** Take back what it filed; the answer stays, and says by whom it was undone and which entries were left. */
export function undoAnswer(doc: Y.Doc, message: Message, who: Writer): void {
  const entry = root(doc, "messages").get(message.id);
  if (!(entry instanceof Y.Map)) return;
  const plan = planOf(doc, message, replacedIn(doc));
  const left = plan.flatMap((step) => (step.do === "leave" ? [step.id] : []));
  doc.transact(() => {
    for (const step of plan) {
      if (step.do === "remove") step.from.delete(step.id);
      else if (step.do === "reopen") step.step.set("state", "open");
    }
    const refs: unknown = entry.get("refs");
    const before = refs instanceof Y.Array ? (refs.toJSON() as unknown[]) : Array.isArray(refs) ? refs : [];
    entry.set("refs", [...before, { undone: who.name, at: Date.now(), ...(left.length ? { left } : {}) }]);
  }, LEDGER);
}

function planOf(doc: Y.Doc, message: Message, replaced: ReadonlySet<string>): Step[] {
  const said = root(doc, "messages").get(message.id);
  if (!(said instanceof Y.Map)) return [];
  const agents = new Set([said._item!.id.client, ...[...said._map.values()].map((item) => item.id.client)]);
  const filed = message.refs.filter((ref): ref is Filed => ref.kind === "filed");
  return filed.flatMap((ref): Step[] => {
    const [from, entry] = find(doc, ref);
    if (!from || !entry) return [];
    if (isMade(ref, entry)) {
      const isLeft = isChanged(entry) || (ref.entry === "decision" && replaced.has(ref.id));
      return [isLeft ? { do: "leave", id: ref.id } : { do: "remove", from, id: ref.id }];
    }
    const state = ref.entry === "next_step" ? entry._map.get("state") : undefined;
    return entry.get("state") === "done" && state && agents.has(state.id.client) ? [{ do: "reopen", step: entry }] : [];
  });
}

/** An entry, and the map that it stands in. */
function find(doc: Y.Doc, { entry: kind, id }: Filed): [Y.Map<unknown> | null, Y.Map<unknown> | null] {
  const all = root(doc, ROOTS[kind] ?? "constraints");
  if (kind !== "answer") return [all, mapOf(all.get(id))];
  for (const question of all.values()) {
    const answers = question instanceof Y.Map ? mapOf(question.get("answers")) : null;
    const answer = mapOf(answers?.get(id));
    if (answer) return [answers, answer];
  }
  return [null, null];
}

function mapOf(value: unknown): Y.Map<unknown> | null {
  return value instanceof Y.Map ? (value as Y.Map<unknown>) : null;
}

/** Whether the answer made it: what agents file has an id that follows from its source (UUIDv5), which other answers share not. */
function isMade(ref: Filed, entry: Y.Map<unknown>): boolean {
  if (ref.id[14] !== "5") return false;
  const fields = ref.entry === "next_step" ? mapOf(entry.get("fields")) : entry;
  const source = fields?.get("source");
  return source === undefined || source === ref.source;
}

/** Whether anybody but its maker has written in an entry, or taken anything out of it. */
function isChanged(entry: Y.Map<unknown>): boolean {
  const maker = entry._item!.id.client;
  const isOthers = (item: Y.Item): boolean =>
    item.deleted || item.id.client !== maker || (item.content instanceof Y.ContentType && typeHas(item.content.type));
  const typeHas = (type: Y.AbstractType<unknown>): boolean => {
    for (let item = type._start; item; item = item.right) if (isOthers(item)) return true;
    return [...type._map.values()].some(isOthers);
  };
  return typeHas(entry as Y.AbstractType<unknown>);
}
