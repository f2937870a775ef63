/**
 * What an answer says and refers to: its words, the entries that were filed for it, once, and what was left unfiled. Drawn and
 * nothing more; must never hide words that are not shown as an entry.
 */

import { html, nothing, type TemplateResult } from "lit";
import type * as Y from "yjs";

import type { Message, Ref } from "../doc/conversation";
import { addConstraint, addStep, ask, decide, type Writer } from "../doc/entries";
import { readLedger } from "../doc/ledger";
import { say } from "../words/language";
import { langOf } from "../words/script";
import { kindOf, severityView } from "./badges";
import { showFiled, showUndone } from "./filed_listing";

export type Unfiled = Extract<Ref, { kind: "unfiled" }>;
type Filed = Extract<Ref, { kind: "filed" }>;

/** The words of the ledger's entries by id, answers included, and how grave a constraint is. */
export type Entries = ReadonlyMap<string, { text: string; severity?: string }>;

export function entriesOf(doc: Y.Doc): Entries {
  const { constraints, decisions, questions, steps } = readLedger(doc);
  const all = [...constraints, ...decisions, ...questions, ...steps, ...questions.flatMap((one) => one.answers)];
  return new Map(all.map((one) => [one.id, one]));
}

export function saidView({ text, role, refs }: Message, entries: Entries, show: (id: string) => void): TemplateResult {
  const undone = refs.find((ref) => ref.kind === "undone");
  // of an answer that was undone, only what is still there is an entry
  const filed = refs.filter((ref) => ref.kind === "filed" && (!undone || entries.has(ref.id))) as Filed[];
  const shown =
    role === "agent"
      ? undone
        ? showUndone(text, filed)
        : showFiled(text, filed, (id) => entries.get(id)?.text ?? null)
      : { before: text, filed: filed.map((ref) => ({ ref, more: "" })), after: "" };
  return html`${shown.before || !shown.filed.length ? html`<div class="said" lang=${langOf(text) ?? nothing}>${shown.before}</div>` : nothing}
  ${
    shown.filed.length
      ? html`<ul class="refs" aria-label=${say("talk.filed")}>
          ${shown.filed.map(({ ref, more }) => filedView(ref, more, entries, show))}
        </ul>`
      : nothing
  }
  ${shown.after ? html`<div class="said" lang=${langOf(text) ?? nothing}>${shown.after}</div>` : nothing}`;
}

function filedView(ref: Filed, more: string, entries: Entries, show: (id: string) => void) {
  const entry = entries.get(ref.id);
  return html`<li>
    <span class="badge filed">${kindOf(ref.entry)}</span> ${entry?.severity ? severityView(entry.severity) : nothing}
    <button type="button" class="link" lang=${langOf(entry?.text ?? "") ?? nothing} @click=${() => show(ref.id)}>${entry?.text ?? say("talk.gone")}</button>
    ${more ? html`<span class="meta">${more}</span>` : nothing}
  </li>`;
}

/** What became of an answer besides. `file` files words as a kind of entry, null where one may not. */
export function leftView(refs: Ref[], entries: Entries, file: ((ref: Unfiled, kind: string) => void) | null) {
  const texts = [...entries.values()].map((one) => one.text);
  const left = refs.filter((ref) => ref.kind === "fell back" || (ref.kind === "unfiled" && !texts.some((text) => text.includes(ref.quote))));
  if (!left.length) return nothing;
  return html`<ul class="refs">
    ${left.map((ref) => {
      if (ref.kind === "fell back") return html`<li class="meta">${say("talk.fell_back", { why: ref.why })}</li>`;
      return ref.kind === "unfiled" ? unfiledView(ref, file) : nothing;
    })}
  </ul>`;
}

/** That an answer was undone, and what was left of it; or the way to undo it, null where there is none. */
export function undoneView(refs: Ref[], entries: Entries, me: string, undo: (() => void) | null) {
  const undone = refs.find((ref) => ref.kind === "undone");
  if (!undone)
    return undo ? html`<button type="button" class="plain undo" @click=${undo}>${say("talk.undo")}</button>` : nothing;
  const left = undone.left.flatMap((id) => entries.get(id)?.text ?? []);
  return html`<p class="meta undone">${undone.by === me ? say("talk.undone_own") : say("talk.undone", { who: undone.by })}</p>
    ${
      left.length
        ? html`<p class="meta">${say("talk.left")} ${left.map((text) => html`<q>${text}</q> `)}</p>`
        : nothing
    }`;
}

/** Words that seemed to belong into the ledger, and that nobody has filed yet: a person may. */
function unfiledView(ref: Unfiled, file: ((ref: Unfiled, kind: string) => void) | null) {
  const choose = (event: Event): void => {
    const field = event.target as HTMLSelectElement;
    const kind = field.value;
    field.value = "";
    file?.(ref, kind);
  };
  return html`<li class="unfiled">
    <span>${say("talk.unfiled")} <q>${ref.quote}</q></span>
    ${
      file
        ? html`<select aria-label=${say("talk.file_as")} @change=${choose}>
            <option value="">${say("talk.file_as")}</option>
            <option value="constraint">${say("kind.constraint")}</option>
            <option value="decision">${say("kind.decision")}</option>
            <option value="question">${say("kind.question")}</option>
            <option value="next_step">${say("kind.next_step")}</option>
          </select>`
        : nothing
    }
  </li>`;
}

export function fileAs(doc: Y.Doc, { quote, source }: Unfiled, kind: string, who: Writer): void {
  if (kind === "constraint") addConstraint(doc, quote, "normal", who, source);
  else if (kind === "decision") decide(doc, quote, { source }, who);
  else if (kind === "question") ask(doc, quote, who);
  else if (kind === "next_step") addStep(doc, quote, who, source);
}
