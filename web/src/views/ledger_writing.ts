/** What the ledger's forms and buttons write: which entries replace which. Must never overwrite an entry. */

import type * as Y from "yjs";

import * as entries from "../doc/entries";
import type { Decision, Question } from "../doc/ledger";
import type { Addable } from "./ledger_parts";

export function add(doc: Y.Doc, kind: Addable, text: string, data: FormData, who: entries.Writer): void {
  if (kind === "constraints") entries.addConstraint(doc, text, String(data.get("severity") ?? "normal"), who);
  else if (kind === "decisions") entries.decide(doc, text, { topic: String(data.get("topic") ?? "").trim() || null }, who);
  else if (kind === "questions") entries.ask(doc, text, who);
  else entries.addStep(doc, text, who);
}

export function replace(doc: Y.Doc, old: Decision, text: string, who: entries.Writer): void {
  if (text !== old.text) entries.decide(doc, text, { topic: old.topic, supersedes: [old.id] }, who);
}

/** One of those that conflict stands: said anew, in place of all of them. */
export function settle(doc: Y.Doc, group: Decision[], chosen: Decision, who: entries.Writer): void {
  const supersedes = group.map((one) => one.id);
  entries.decide(doc, chosen.text, { topic: chosen.topic, supersedes, source: chosen.source }, who);
}

/** An answer to what is open stands beside others; one to what was answered takes their place. */
export function answerTo(doc: Y.Doc, question: Question, text: string, who: entries.Writer): void {
  const replaced = question.status === "open" ? [] : question.answers.map((one) => one.id);
  entries.answer(doc, question.id, text, replaced, who);
}

export function settleAnswer(doc: Y.Doc, question: Question, text: string, who: entries.Writer): void {
  const replaced = question.answers.map((one) => one.id);
  entries.answer(doc, question.id, text, replaced, who);
}
