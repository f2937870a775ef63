/** Small words beside an entry: how it stands, how grave it is. */

import { html, nothing, type TemplateResult } from "lit";

import { say, type Plain } from "../words/language";

export function severityView(severity: string) {
  if (severity === "normal") return nothing;
  const known: Record<string, Plain> = { critical: "severity.critical", important: "severity.important" };
  const key = known[severity];
  return html`<span class="badge severity-${key ? severity : "other"}">${key ? say(key) : severity}</span>`;
}

export function badgeView(name: Plain): TemplateResult {
  return html`<span class="badge">${say(name)}</span>`;
}

const KINDS: Record<string, Plain> = {
  paragraph: "kind.paragraph",
  message: "kind.message",
  constraint: "kind.constraint",
  decision: "kind.decision",
  question: "kind.question",
  answer: "kind.answer",
  next_step: "kind.next_step",
  goal: "kind.goal",
  output: "kind.output",
  document: "kind.document",
  dialogue: "kind.dialogue",
  call: "kind.call",
};

/** What an entry is called; as it comes where we do not know it. */
export function kindOf(kind: string): string {
  const name = KINDS[kind];
  return name ? say(name) : kind;
}
