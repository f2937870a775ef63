/**
 * What a task asks of whoever opens it: three choices, each with a sentence that says what follows. Owns that nobody shuts
 * themselves out unasked; the server decides who meets a rule.
 */

import { html, nothing } from "lit";

import { Problem, type Api } from "../sync/api";
import { Access, type Policy } from "../sync/access";
import { say } from "../words/language";
import { RULES } from "./access_words";
import { PageElement, whyOf } from "./element";

export class AccessPolicy extends PageElement {
  static override properties = {
    api: { attribute: false },
    task: {},
    kept: { state: true },
    chosen: { state: true },
    isAsked: { state: true },
    said: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare task: string;
  /** As the server has it, and as it is chosen here. */
  declare kept: Policy | null;
  declare chosen: Policy | null;
  /** Whether it is asked that this device would be out. */
  declare isAsked: boolean;
  declare said: string;
  declare failure: string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.kept = null;
    this.chosen = null;
    this.isAsked = false;
    this.said = "";
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#load();
  }

  override render() {
    if (!this.chosen) return this.failure ? html`<p class="failure" role="alert">${this.failure}</p>` : nothing;
    return html`<details class="access">
      <summary><h3>${say("access.title")}</h3></summary>
      <form class="another" @submit=${this.#submit}>
        ${this.#rule("resume")} ${this.#rule("device")} ${this.#rule("confirm")}
        <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
        <p class="quiet" role="status">${this.said}</p>
        ${this.isAsked ? this.#asking() : this.#saving()}
      </form>
    </details>`;
  }

  get #isChanged(): boolean {
    const { kept, chosen } = this;
    return !!kept && !!chosen && (Object.keys(kept) as (keyof Policy)[]).some((rule) => kept[rule] !== chosen[rule]);
  }

  #rule<K extends keyof Policy>(rule: K) {
    const { name, choices } = RULES[rule];
    const now = this.chosen![rule];
    const follows = choices.find(([value]) => value === now)?.[2];
    const choose = (event: Event): void => {
      this.chosen = { ...this.chosen!, [rule]: (event.target as HTMLSelectElement).value };
      this.isAsked = false;
      this.said = "";
      this.failure = "";
    };
    return html`<label for="rule-${rule}">${say(name)}</label>
      <select id="rule-${rule}" aria-describedby="rule-${rule}-so" @change=${choose}>
        ${choices.map(([value, words]) => html`<option value=${value} ?selected=${value === now}>${say(words)}</option>`)}
      </select>
      <p id="rule-${rule}-so" class="quiet">${follows ? say(follows) : nothing}</p>`;
  }

  #saving() {
    return html`<div class="acts">
      <button class="primary" ?disabled=${this.isBusy || !this.#isChanged}>${say("save")}</button>
      ${this.#isChanged ? html`<span class="quiet">${say("access.at_once")}</span>` : nothing}
    </div>`;
  }

  #asking() {
    return html`<div class="asking" role="group" aria-label=${say("access.title")}>
      <p class="warning">${say("access.lockout")}</p>
      <div class="acts">
        <button type="button" @click=${this.#undo}>${say("cancel")}</button>
        <button type="button" class="primary" ?disabled=${this.isBusy} @click=${() => this.#put(true)}>
          ${say("access.lockout_sure")}
        </button>
      </div>
    </div>`;
  }

  readonly #undo = (): void => {
    this.chosen = this.kept;
    this.isAsked = false;
  };

  readonly #submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void this.#put(false);
  };

  async #put(isSure: boolean): Promise<void> {
    if (this.isBusy || !this.chosen) return;
    this.isBusy = true;
    this.failure = "";
    this.said = "";
    try {
      await new Access(this.api, this.task).setPolicy(this.chosen, isSure);
      this.kept = this.chosen;
      this.isAsked = false;
      this.said = say("members.changed");
    } catch (error) {
      if (error instanceof Problem && error.reason === "lockout") this.isAsked = true;
      else this.failure = whyOf(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #load(): Promise<void> {
    try {
      this.kept = this.chosen = await new Access(this.api, this.task).policy();
    } catch (error) {
      this.failure = whyOf(error);
    }
  }
}

customElements.define("clew-access-policy", AccessPolicy);
