/**
 * "You were working on X. Continue?": one paragraph, what changed, what comes next, and the way back in. Owns what a
 * returning person sees first; must never choose for them, nor be in the way of something else.
 */

import { html, nothing } from "lit";

import type { Api, Candidate, Change, Item, Person, Resumption } from "../sync/api";
import type { Correction } from "../sync/correction";
import type { Where } from "../sync/where";
import { ago, inFull, say, type Plain } from "../words/language";
import { langOf } from "../words/script";
import { follow, isSignedOut, PageElement, signedOut, whyOf } from "./element";
import { badgeView, kindOf, severityView } from "./badges";

const CHANGES = 6;
/** Where the server's paragraph has said which task it is about; the quotes hold nothing that ends them. */
const OPENING = /^.{0,400}?[”」](?:\. Continue\?|。要继续吗？)\s*/su;

export class ReturnCard extends PageElement {
  static override properties = {
    api: { attribute: false },
    me: { attribute: false },
    candidate: { attribute: false },
    isOpen: { type: Boolean },
    resumption: { state: true },
    failure: { state: true },
    editing: { state: true },
    told: { state: true },
    busy: { state: true },
  };

  declare api: Api;
  declare me: Person;
  declare candidate: Pick<Candidate, "task" | "why" | "worked">;
  /** Shown inside the task itself: then there is nothing to continue. */
  declare isOpen: boolean;
  declare resumption: Resumption | null;
  declare failure: string;
  declare editing: string;
  declare told: string;
  declare busy: boolean;
  #asked = "";

  constructor() {
    super();
    this.isOpen = false;
    this.resumption = null;
    this.failure = "";
    this.editing = "";
    this.told = "";
    this.busy = false;
  }

  protected override willUpdate(): void {
    const asked = `${this.candidate.task.id} ${this.api.language}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    void this.#load();
  }

  override render() {
    const { task, why, worked } = this.candidate;
    const heading = say(worked === false ? "return.first" : "return.heading", { name: task.name });
    return html`<section class="return" aria-labelledby="return-${task.id}">
      ${why ? html`<p class="eyebrow">${why}</p>` : nothing}
      <h2 id="return-${task.id}">${this.isOpen ? say("return.stands") : heading}</h2>
      ${this.resumption ? this.#body(this.resumption) : html`<p class="quiet">${this.failure || say("return.reading")}</p>`}
      ${this.told ? html`<p class="quiet" role="status">${this.told}</p>` : nothing}
      ${
        this.isOpen
          ? nothing
          : html`<div class="acts">
              <a class="button primary" href="/t/${task.id}" @click=${this.#continue}
                >${say("return.continue")}</a
              >
              <button type="button" @click=${() => this.#send("another")}>${say("return.another")}</button>
              <button type="button" @click=${() => this.#send("anew")}>${say("return.anew")}</button>
            </div>`
      }
    </section>`;
  }

  /** To the very place where one was, on whichever device. */
  readonly #continue = (event: MouseEvent): void => {
    if (this.resumption?.place) this.#send("bring", this.resumption.place.where);
    follow(this, event, `/t/${this.candidate.task.id}`);
  };

  #body({ text, narrative, facts, last_edit: last }: Resumption) {
    const paragraph = text.replace(OPENING, "");
    const next = facts.next_step && !paragraph.includes(facts.next_step.text) ? facts.next_step : null;
    return html`${narrative ? html`<p class="narrative"><span class="eyebrow">${say("return.in_short")}</span>${narrative}</p>` : nothing}
    ${paragraph ? html`<p class="paragraph">${paragraph}</p>` : nothing}
    ${last ? html`<p class="last"><span class="eyebrow">${say("return.last")}</span> ${this.#last(last)}</p>` : nothing}
    ${facts.changes.length ? this.#changes(facts.changes) : nothing}
    ${next ? html`<p class="next"><span class="eyebrow">${say("return.next")}</span> ${next.text}</p>` : nothing}
    ${this.#all(facts)}`;
  }

  #last(one: Change) {
    const who = [one.you ? say("people.you") : one.by, one.device].filter(Boolean).join(" · ");
    return html`${one.text || say("document.untitled")} <span class="meta">${[kindOf(one.kind ?? ""), who].filter(Boolean).join(" · ")}</span>`;
  }

  #changes(changes: Change[]) {
    const whats: Record<Change["what"], Plain> = {
      added: "change.added",
      edited: "change.edited",
      answered: "change.answered",
      retired: "change.retired",
      superseded: "change.superseded",
      removed: "change.removed",
    };
    return html`<h3>${say("return.changed", { n: changes.length })}</h3>
      <ul class="changes">
        ${changes.slice(0, CHANGES).map((one) => {
          const at = one.at ? Date.parse(one.at) : NaN;
          const who = one.agent ? [one.agent] : [one.you ? say("people.you") : one.by, one.device];
          const deed = [kindOf(one.kind ?? ""), say(whats[one.what] ?? "change.edited"), ...who];
          return html`<li>
            <span lang=${langOf(one.text) ?? nothing}>${one.text}</span>
            <span class="meta">
              ${deed.filter(Boolean).join(" · ")}
              ${Number.isNaN(at) ? nothing : html` · <time title=${inFull(at)}>${ago(at)}</time>`}
            </span>
          </li>`;
        })}
      </ul>
      ${changes.length > CHANGES ? html`<p class="meta">${say("return.more", { n: changes.length - CHANGES })}</p>` : nothing}`;
  }

  /** Every item, to be put right where it is wrong. */
  #all(facts: Resumption["facts"]) {
    const groups: [Plain, Correction["root"], Item[]][] = [
      ["ledger.constraints", "constraints", facts.constraints],
      ["ledger.decisions", "decisions", facts.decisions],
      ["ledger.questions", "questions", facts.questions],
      ["ledger.steps", "slots", facts.next_steps ?? []],
    ];
    const full = groups.filter(([, , items]) => items.length);
    if (!full.length) return nothing;
    return html`<details>
      <summary>${say("return.all")}</summary>
      ${full.map(
        ([title, root, items]) =>
          html`<h3>${say(title)}</h3>
            <ul class="facts">
              ${items.map((item) => this.#item(root, item))}
            </ul>`,
      )}
      ${this.#quoted("return.not_filed", facts.not_filed.filter((one) => one.status !== "not_answered"))}
      ${this.#quoted("return.not_answered", facts.not_filed.filter((one) => one.status === "not_answered"))}
    </details>`;
  }

  /** What people said that is no entry yet. */
  #quoted(title: Plain, items: Item[]) {
    if (!items.length) return nothing;
    return html`<h3>${say(title)}</h3>
      <ul class="facts">
        ${items.map((item) => html`<li><q lang=${langOf(item.text) ?? nothing}>${item.text}</q></li>`)}
      </ul>`;
  }

  #item(root: Correction["root"], item: Item) {
    const role = this.resumption?.task.role;
    const mayWrite = role === "editor" || role === "owner";
    if (this.editing !== item.id) {
      return html`<li>
        <span
          ><span lang=${langOf(item.text) ?? nothing}>${item.text}</span>
          ${item.severity ? severityView(item.severity) : nothing}${item.status === "conflicting" ? badgeView("ledger.conflicting") : nothing}</span
        >
        ${
          mayWrite
            ? html`<button
                type="button"
                class="plain"
                aria-label=${say("return.correct_what", { what: item.text })}
                @click=${() => this.#edit(item.id)}
              >
                ${say("return.correct")}
              </button>`
            : nothing
        }
      </li>`;
    }
    const send = (event: SubmitEvent): void => {
      event.preventDefault();
      const after = String(new FormData(event.target as HTMLFormElement).get("text") ?? "").trim();
      void this.#correct({ root, id: item.id, before: item.text, after });
    };
    return html`<li>
      <form
        class="ledger-form"
        @submit=${send}
        @keydown=${(event: KeyboardEvent) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          this.editing = "";
        }}
      >
        <textarea name="text" rows="2" aria-label=${say("ledger.edit_words")} .value=${item.text}></textarea>
        <div class="acts">
          <button class="primary" ?disabled=${this.busy}>${say("save")}</button>
          <button type="button" @click=${() => (this.editing = "")}>${say("cancel")}</button>
        </div>
      </form>
    </li>`;
  }

  #edit(id: string): void {
    this.editing = id;
    void this.updateComplete.then(() => this.querySelector("textarea")?.focus());
  }

  async #correct(correction: Correction): Promise<void> {
    if (!correction.after || correction.after === correction.before) return void (this.editing = "");
    this.busy = true;
    const server = location.origin.replace(/^http/, "ws");
    try {
      const { correct } = await import("../sync/correction");
      const corrected = await correct(this.api, this.me, this.candidate.task.id, correction, { server });
      const words: Record<typeof corrected, Plain> = {
        done: "return.corrected",
        "changed meanwhile": "return.changed_meanwhile",
        refused: "problem.forbidden",
      };
      this.told = say(words[corrected]);
      this.editing = "";
      await this.#load();
    } catch (error) {
      this.told = say("return.not_corrected", { why: whyOf(error) });
    } finally {
      this.busy = false;
    }
  }

  async #load(): Promise<void> {
    try {
      this.resumption = await this.api.resume(this.candidate.task.id);
      this.failure = "";
    } catch (error) {
      if (isSignedOut(error)) return signedOut(this, error.why);
      this.failure = whyOf(error);
    }
  }

  #send(name: "another" | "anew" | "bring", detail?: Where): void {
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
  }
}

customElements.define("clew-return-card", ReturnCard);
