/** The parts of the ledger that hold no state: forms, the field for words, results. Drawn and nothing more. */

import { html, nothing, type TemplateResult } from "lit";

import { SEVERITIES, type Severity } from "../doc/entries";
import type { Decision, Entry, Ledger, Output } from "../doc/ledger";
import { say, type Plain } from "../words/language";
import { isComposing } from "./keys";

export type Drawn = TemplateResult | typeof nothing;
/** A button of an entry, and what it does. */
export type Act = [label: Plain, act: () => void];
/** What people add by hand. */
export type Addable = "steps" | "constraints" | "questions" | "decisions";

export const TITLES: Record<Addable, Plain> = {
  steps: "ledger.steps",
  constraints: "ledger.constraints",
  questions: "ledger.questions",
  decisions: "ledger.decisions",
};
export const ADDING: Record<Addable, Plain> = {
  steps: "ledger.add_step",
  constraints: "ledger.add_constraint",
  questions: "ledger.add_question",
  decisions: "ledger.add_decision",
};
const NAMES: Record<Severity, Plain> = {
  critical: "severity.critical",
  important: "severity.important",
  normal: "severity.normal",
};

export interface Form {
  label: Plain;
  value?: string;
  extra?: Drawn;
  submit: (text: string, data: FormData) => void;
  close: () => void;
}

export function formView({ label, value = "", extra = nothing, submit, close }: Form): TemplateResult {
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const text = String(data.get("text") ?? "").trim();
    close();
    if (text) submit(text, data);
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === "Escape") close();
  };
  return html`<form class="ledger-form" @submit=${send} @keydown=${pressed}>
    <input name="text" aria-label=${say(label)} placeholder=${say(label)} autocomplete="off" required .value=${value} />
    ${extra}
    <div class="acts">
      <button class="primary">${say("save")}</button>
      <button type="button" @click=${close}>${say("cancel")}</button>
    </div>
  </form>`;
}

/** What else one says of a new entry. */
export function extraFields(kind: Addable): Drawn {
  const topic = say("ledger.topic");
  if (kind === "decisions") {
    return html`<input name="topic" aria-label=${topic} placeholder=${topic} maxlength="80" autocomplete="off" />`;
  }
  if (kind !== "constraints") return nothing;
  return html`<select name="severity" aria-label=${say("ledger.severity")}>
    ${[...SEVERITIES].reverse().map((one) => html`<option value=${one}>${say(NAMES[one])}</option>`)}
  </select>`;
}

/** The field that an entry's words are changed in; whoever shows it binds it to them. */
export function wordsField(one: Entry, close: () => void): TemplateResult {
  const pressed = (event: KeyboardEvent): void => {
    const ends = event.key === "Escape" || (event.key === "Enter" && !event.shiftKey);
    if (!ends || isComposing(event)) return;
    event.preventDefault();
    close();
  };
  return html`<div class="entry-edit">
    <textarea data-edit=${one.id} aria-label=${say("ledger.edit_words")} rows="2" @keydown=${pressed}></textarea>
    <button type="button" @click=${close}>${say("ledger.finish")}</button>
  </div>`;
}

export function outputsView(all: Output[]): Drawn {
  if (!all.length) return nothing;
  return html`<section>
    <h3>${say("ledger.outputs")}</h3>
    <ul>
      ${all.map(
        (one) =>
          html`<li class="entry">
            <span class="entry-line">${one.text || say("document.untitled")} <span class="badge">${one.status}</span></span>
            ${one.next ? html`<p class="meta">${say("ledger.next", { what: one.next })}</p>` : nothing}
          </li>`,
      )}
    </ul>
  </section>`;
}

/** What a decision is about, where its words do not say so themselves. */
export function topicView({ topic, text }: Decision): Drawn {
  return topic && !text.toLowerCase().includes(topic.toLowerCase()) ? html`<span class="badge">${topic}</span>` : nothing;
}

export function allEntries(ledger: Ledger): Entry[] {
  return [...ledger.steps, ...ledger.constraints, ...ledger.questions, ...ledger.decisions, ...ledger.outputs];
}
