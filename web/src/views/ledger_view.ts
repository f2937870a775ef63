/**
 * Where a task stands: next steps, what must hold, open questions, decisions, results. Owns how entries are shown, added,
 * changed in place and taken back; must never hide that two of them do not agree, nor settle it by itself.
 */

import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type * as Y from "yjs";

import * as entries from "../doc/entries";
import { conflictsOf, readLedger, type Constraint, type Decision, type Entry, type NextStep, type Question } from "../doc/ledger";
import { root, type Root } from "../doc/schema";
import { standingAnswers } from "../doc/standing";
import { bindText } from "../doc/text_change";
import { ago, inFull, say, type Plain } from "../words/language";
import { langOf } from "../words/script";
import { badgeView, severityView } from "./badges";
import { PageElement } from "./element";
import { pastView } from "./ledger_past";
import {
  ADDING,
  allEntries,
  extraFields,
  formView,
  outputsView,
  TITLES,
  topicView,
  wordsField,
  type Act,
  type Addable,
  type Drawn,
  type Form,
} from "./ledger_parts";
import { add, answerTo, replace, settle, settleAnswer } from "./ledger_writing";

const ROOTS: Root[] = ["constraints", "decisions", "questions", "slots", "outputs"];

export interface LedgerEvents {
  "show-message": CustomEvent<string>;
  filed: CustomEvent<{ by: string }>;
}

export class LedgerView extends PageElement {
  static override properties = {
    doc: { attribute: false },
    who: { attribute: false },
    editable: { type: Boolean },
    opened: { state: true },
    form: { state: true },
  };

  declare doc: Y.Doc;
  declare who: entries.Writer;
  declare editable: boolean;
  /** The entry whose actions are shown. */
  declare opened: string;
  /** The form that is open: `add constraints`, `edit ID`, `replace ID`, `answer ID`. */
  declare form: string;
  #undo: Y.UndoManager | null = null;
  #unbind: (() => void) | null = null;
  #bound: Y.Text | null = null;

  constructor() {
    super();
    this.editable = false;
    this.opened = "";
    this.form = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    for (const name of ROOTS) root(this.doc, name).observeDeep(this.#heard);
    this.#undo = entries.ledgerUndo(this.doc);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    for (const name of ROOTS) root(this.doc, name).unobserveDeep(this.#heard);
    this.#undo?.destroy();
    this.#release();
  }

  /** Open an entry and bring it into view. */
  reveal(id: string): void {
    this.opened = id;
    void this.updateComplete.then(() => {
      const entry = this.#find(id);
      entry?.closest("details")?.setAttribute("open", "");
      entry?.scrollIntoView({ block: "center" });
      entry?.querySelector<HTMLElement>(".entry-text")?.focus({ preventScroll: true });
    });
  }

  override render() {
    const ledger = readLedger(this.doc);
    return html`<div class="ledger-head">
        <h2>${say("ledger.title")}</h2>
        ${this.#undo?.canUndo() ? html`<button type="button" class="plain" @click=${this.#undoLast}>${say("ledger.undo")}</button>` : nothing}
      </div>
      ${this.#steps(ledger.steps)} ${this.#constraints(ledger.constraints)} ${this.#questions(ledger.questions)}
      ${this.#decisions(ledger.decisions)} ${outputsView(ledger.outputs)}
      ${pastView(ledger, this.doc, (...shown) => this.#entry(...shown))}`;
  }

  protected override updated(): void {
    const field = this.querySelector<HTMLTextAreaElement>("textarea[data-edit]");
    const id = field?.dataset["edit"] ?? "";
    const shared = field ? (allEntries(readLedger(this.doc)).find((one) => one.id === id)?.shared ?? null) : null;
    if (shared === this.#bound) return;
    this.#release();
    this.#bound = shared;
    if (field && shared) this.#unbind = bindText(field, shared);
  }

  #steps(all: NextStep[]) {
    const open = all.filter((one) => one.status !== "done" && one.status !== "dropped");
    return this.#section(
      "steps",
      open.length,
      html`<ul>
        ${repeat(
          open,
          (one) => one.id,
          (one) =>
            this.#entry(
              one,
              nothing,
              [
                ["ledger.done", () => entries.setStep(this.doc, one.id, "done")],
                ["ledger.drop", () => entries.setStep(this.doc, one.id, "dropped")],
              ],
              one.source,
            ),
        )}
      </ul>`,
    );
  }

  #constraints(all: Constraint[]) {
    const rank = (one: Constraint): number => (entries.SEVERITIES.indexOf(one.severity as entries.Severity) + 4) % 4;
    const active = all.filter((one) => one.status === "active").sort((a, b) => rank(a) - rank(b));
    return this.#section(
      "constraints",
      active.length,
      html`<ul>
        ${repeat(
          active,
          (one) => one.id,
          (one) =>
            this.#entry(
              one,
              severityView(one.severity),
              [["ledger.retire", () => entries.takeBack(this.doc, "constraints", one.id, this.who)]],
              one.source,
            ),
        )}
      </ul>`,
    );
  }

  #questions(all: Question[]) {
    const open = all.filter((one) => one.status === "open" || one.status === "conflicting");
    const answered = all.filter((one) => one.status === "answered");
    return this.#section(
      "questions",
      open.length + answered.length,
      html`<ul>
        ${repeat(
          [...open, ...answered],
          (one) => one.id,
          (one) => this.#question(one),
        )}
      </ul>`,
    );
  }

  #question(one: Question) {
    const standing = standingAnswers(one.answers);
    const isAnswered = one.status === "answered";
    const answers = html`${one.status === "conflicting" ? html`<p class="conflict-note">${say("ledger.answers_conflict")}</p>` : nothing}
    ${
      standing.length
        ? html`<ul class="answers">
            ${standing.map(
              (answer) =>
                html`<li>
                  <span><span class="mark">${say("ledger.answer_mark")}</span> ${answer.text}</span>
                  ${
                    one.status === "conflicting" && this.editable
                      ? html`<button type="button" class="plain" @click=${() => this.#act(() => settleAnswer(this.doc, one, answer.text, this.who))}>
                          ${say("ledger.stands")}
                        </button>`
                      : nothing
                  }
                </li>`,
            )}
          </ul>`
        : nothing
    }`;
    return this.#entry(
      one,
      isAnswered ? nothing : badgeView(one.status === "conflicting" ? "ledger.conflicting" : "ledger.open"),
      [
        [isAnswered ? "ledger.answer_anew" : "ledger.answer", () => (this.form = `answer ${one.id}`)],
        ...(isAnswered ? [] : [["ledger.drop", () => entries.takeBack(this.doc, "questions", one.id, this.who)] as Act]),
      ],
      null,
      answers,
    );
  }

  #decisions(all: Decision[]) {
    const current = all.filter((one) => one.status === "current");
    const groups = conflictsOf(all);
    return this.#section(
      "decisions",
      current.length + groups.length,
      html`${groups.map((group) => this.#conflict(group))}
        <ul>
          ${repeat(
            current,
            (one) => one.id,
            (one) => this.#decision(one),
          )}
        </ul>`,
    );
  }

  #decision(one: Decision) {
    return this.#entry(one, topicView(one), [["ledger.replace", () => (this.form = `replace ${one.id}`)]], one.source);
  }

  #conflict(group: Decision[]) {
    return html`<div class="conflict" role="group" aria-label=${say("ledger.decisions_conflict")}>
      <p class="conflict-note">${say("ledger.decisions_conflict")}</p>
      <ul>
        ${repeat(
          group,
          (one) => one.id,
          (one) => this.#entry(one, topicView(one), [["ledger.stands", () => settle(this.doc, group, one, this.who)]], one.source),
        )}
      </ul>
    </div>`;
  }

  #section(kind: Addable, count: number, list: TemplateResult) {
    const form = `add ${kind}`;
    const adding = say(ADDING[kind]);
    const open = (): void => this.#openForm(form);
    return html`<section class="ledger-${kind}">
      <div class="section-head">
        <h3>${say(TITLES[kind])}</h3>
        ${
          this.editable && this.form !== form
            ? html`<button type="button" class="plain add" aria-label=${adding} title=${adding} @click=${open}>+</button>`
            : nothing
        }
      </div>
      ${this.form === form ? this.#form(ADDING[kind], (text, data) => add(this.doc, kind, text, data, this.who), { extra: extraFields(kind) }) : nothing}
      ${count ? list : html`<p class="none">${say("ledger.none")}</p>`}
    </section>`;
  }

  #form(label: Plain, submit: Form["submit"], more: Pick<Form, "extra" | "value"> = {}) {
    return formView({ label, submit, close: () => (this.form = ""), ...more });
  }

  #editor(one: Entry) {
    return wordsField(one, () => {
      this.form = "";
      void this.updateComplete.then(() => this.#find(one.id)?.querySelector<HTMLElement>(".entry-text")?.focus());
    });
  }

  #find(id: string): HTMLElement | null {
    return this.querySelector<HTMLElement>(`[data-entry="${CSS.escape(id)}"]`);
  }

  #entry(one: Entry, badge: Drawn, acts: Act[], source: string | null = null, below: Drawn = nothing) {
    const isOpen = this.opened === one.id;
    const isEdited = this.form === `edit ${one.id}` && one.shared !== null;
    return html`<li class="entry ${isOpen ? "open" : ""}" data-entry=${one.id}>
      ${
        isEdited
          ? this.#editor(one)
          : html`<button type="button" class="entry-text" aria-expanded=${String(isOpen)} @click=${() => this.#toggle(one.id)}>
              <span lang=${langOf(one.text) ?? nothing}>${one.text.trim() || say("ledger.empty")}</span>${badge}
            </button>`
      }
      ${below} ${isOpen && !isEdited ? this.#details(one, acts, source) : nothing}
      ${
        this.form === `replace ${one.id}`
          ? this.#form("ledger.replace_with", (text) => replace(this.doc, one as Decision, text, this.who), { value: one.text })
          : nothing
      }
      ${this.form === `answer ${one.id}` ? this.#form("ledger.answer", (text) => answerTo(this.doc, one as Question, text, this.who)) : nothing}
    </li>`;
  }

  #details(one: Entry, acts: Act[], source: string | null) {
    const show = (): void => this.#send("show-message", source);
    return html`<p class="meta">
        ${one.by ?? ""} ${one.at === null ? nothing : html`<time title=${inFull(one.at)}>${ago(one.at)}</time>`}
        ${source ? html`<button type="button" class="link" @click=${show}>${say("ledger.source")}</button>` : nothing}
      </p>
      ${
        this.editable
          ? html`<div class="acts">
              ${one.shared ? html`<button type="button" @click=${() => this.#openForm(`edit ${one.id}`)}>${say("ledger.edit")}</button>` : nothing}
              ${acts.map(([key, act]) => html`<button type="button" @click=${() => this.#act(act)}>${say(key)}</button>`)}
            </div>`
          : nothing
      }`;
  }

  #act(act: () => void): void {
    const before = this.form;
    act();
    if (this.form !== before) return this.#openForm(this.form);
    this.opened = "";
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(".ledger-head button")?.focus());
  }

  #toggle(id: string): void {
    this.opened = this.opened === id ? "" : id;
    this.form = "";
  }

  #openForm(form: string): void {
    this.form = form;
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(".ledger-form input, .entry-edit textarea")?.focus());
  }

  readonly #undoLast = (): void => {
    this.#undo?.undo();
    this.requestUpdate();
  };

  readonly #heard = (events: Y.YEvent<Y.AbstractType<unknown>>[], transaction: Y.Transaction): void => {
    this.requestUpdate();
    if (transaction.local) return;
    for (const event of events)
      if (event.target.parent === null) for (const id of event.changes.keys.keys()) this.#tellOfNew(event.target, id);
  };

  #tellOfNew(target: Y.AbstractType<unknown>, id: string): void {
    const entry = allEntries(readLedger(this.doc)).find((one) => one.id === id);
    if (entry?.by && target.doc) this.#send("filed", { by: entry.by });
  }

  #send(name: keyof LedgerEvents, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }

  #release(): void {
    this.#unbind?.();
    this.#unbind = null;
    this.#bound = null;
  }
}

customElements.define("clew-ledger", LedgerView);
