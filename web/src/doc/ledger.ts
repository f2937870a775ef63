/**
 * What a task's ledger says: constraints, decisions, questions, next steps, outputs. Owns what each field means and which
 * status follows from which entries, as `crdt_docs/contents.py` does; must never write.
 */

import * as Y from "yjs";

import { root } from "./schema";
import { answerStanding, decisionStandings, type DecisionStatus, type QuestionStatus } from "./standing";
import { eachEntry, entriesOf, ids, isSaid, moment, short, words, type Fields } from "./values";

export interface Entry {
  id: string;
  text: string;
  /** What one edits; null where a stock client put bare words. */
  shared: Y.Text | null;
  by: string | null;
  at: number | null;
}

export interface Constraint extends Entry {
  status: "active" | "retired";
  severity: string;
  source: string | null;
}

export interface Decision extends Entry {
  status: DecisionStatus;
  topic: string | null;
  supersedes: string[];
  source: string | null;
}

export interface Answer extends Entry {
  supersedes: string[];
}

export interface Question extends Entry {
  status: QuestionStatus;
  answers: Answer[];
}

export interface NextStep extends Entry {
  status: string;
  source: string | null;
}

export interface Output extends Entry {
  status: string;
  kind: string;
  next: string | null;
}

export interface Ledger {
  constraints: Constraint[];
  decisions: Decision[];
  questions: Question[];
  steps: NextStep[];
  outputs: Output[];
}

export function readLedger(doc: Y.Doc): Ledger {
  const each = <E>(name: Parameters<typeof root>[1], make: (id: string, fields: Fields) => E): E[] =>
    eachEntry(root(doc, name)).map(([id, fields]) => make(id, fields));
  return {
    constraints: each("constraints", (id, fields) => ({
      ...entry(id, fields),
      status: isSaid(fields.get("retired")) ? "retired" : "active",
      severity: short(fields.get("severity")) ?? "normal",
      source: short(fields.get("source")),
    })),
    decisions: readDecisions(eachEntry(root(doc, "decisions"))),
    questions: each("questions", readQuestion),
    steps: eachEntry(root(doc, "slots"))
      .filter(([, fields]) => short(fields.get("intent")) === "next_step")
      .map(([id, fields]) => readStep(id, fields)),
    outputs: each("outputs", (id, fields) => ({
      ...entry(id, fields, "title"),
      status: short(fields.get("state")) ?? "draft",
      kind: short(fields.get("kind")) ?? "",
      next: short(fields.get("next")),
    })),
  };
}

function entry(id: string, fields: Fields, field = "text"): Entry {
  const text = fields.get(field);
  return {
    id,
    text: words(text),
    shared: text instanceof Y.Text ? text : null,
    by: short(fields.get("by")),
    at: moment(fields.get("at")),
  };
}

function readDecisions(entries: [string, Fields][]): Decision[] {
  const supersedes = new Map(entries.map(([id, fields]) => [id, ids(fields.get("supersedes"))]));
  const standings = decisionStandings(supersedes);
  return entries.map(([id, fields]) => ({
    ...entry(id, fields),
    status: standings.get(id)!,
    topic: short(fields.get("topic")),
    supersedes: supersedes.get(id)!,
    source: short(fields.get("source")),
  }));
}

function readQuestion(id: string, fields: Fields): Question {
  const answers = eachEntry(fields.get("answers")).map(([key, given]) => ({
    ...entry(key, given),
    supersedes: ids(given.get("supersedes")),
  }));
  return { ...entry(id, fields), answers, status: answerStanding(answers, isSaid(fields.get("dropped"))) };
}

function readStep(id: string, fields: Fields): NextStep {
  const inner: Fields = new Map(entriesOf(fields.get("fields")));
  return { ...entry(id, inner), status: short(fields.get("state")) ?? "open", source: short(inner.get("source")) };
}

/** Decisions that stand for the same thing and do not agree, by what they took the place of; each group has two or more. */
export function conflictsOf(decisions: readonly Decision[]): Decision[][] {
  const open = decisions.filter((one) => one.status === "conflicting");
  const groups: Decision[][] = [];
  const older = ancestors(decisions);
  for (const one of open) {
    const group = groups.find((others) => others.some((other) => sharesAncestor(older.get(one.id)!, older.get(other.id)!)));
    if (group) group.push(one);
    else groups.push([one]);
  }
  return groups;
}

function ancestors(decisions: readonly Decision[]): Map<string, Set<string>> {
  const direct = new Map(decisions.map((one) => [one.id, one.supersedes]));
  return new Map(
    decisions.map(({ id }) => {
      const seen = new Set<string>([id]);
      const waiting = [...(direct.get(id) ?? [])];
      for (let old = waiting.pop(); old !== undefined; old = waiting.pop()) {
        if (seen.has(old)) continue;
        seen.add(old);
        waiting.push(...(direct.get(old) ?? []));
      }
      return [id, seen] as const;
    }),
  );
}

const sharesAncestor = (a: Set<string>, b: Set<string>): boolean => [...a].some((id) => b.has(id));
