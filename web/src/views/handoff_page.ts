/**
 * The new device's side of handing a task over: a big button, then a number. Owns the code for as long as this page is open:
 * it is taken out of the address before anything else, and presented only when somebody taps.
 */

import { html } from "lit";

import { Problem, type Api } from "../sync/api";
import { Handoffs, type Presented, type Redeemed } from "../sync/handoffs";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";

const CODE = /^#([0-9a-f-]{36})\.([A-Za-z0-9_-]{20,64})$/;
/** Milliseconds between two questions whether one may come in. */
const ASK = 1_000;

export class HandoffPage extends PageElement {
  static override properties = {
    api: { attribute: false },
    waiting: { state: true },
    failure: { state: true },
    isBusy: { state: true },
    hasCode: { state: true },
  };

  declare api: Api;
  /** What was presented and is not answered yet. */
  declare waiting: Redeemed | null;
  declare failure: string;
  declare isBusy: boolean;
  declare hasCode: boolean;
  #code: Presented | null = null;
  #asking: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    this.waiting = null;
    this.failure = "";
    this.isBusy = false;
    this.hasCode = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = `${say("join.title")} · Clew`;
    addEventListener("hashchange", this.#take);
    this.#take();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.#take);
    if (this.#asking) clearTimeout(this.#asking);
    this.#code = null;
  }

  override render() {
    return html`<main class="list join">
      <h1>${say("join.title")}</h1>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      ${this.waiting ? this.#number(this.waiting) : this.hasCode ? this.#tap() : this.#type()}
    </main>`;
  }

  #tap() {
    return html`<p>${say("join.how")}</p>
      <button type="button" class="primary big" ?disabled=${this.isBusy} @click=${() => void this.#present(this.#code)}>
        ${say("join.go")}
      </button>`;
  }

  #type() {
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const code = String(new FormData(event.target as HTMLFormElement).get("code") ?? "").trim();
      if (code) void this.#present({ code: code.slice(0, 40) });
    };
    return html`<p>${say("join.code_how")}</p>
      <form class="typing" @submit=${submit}>
        <label for="join-code">${say("join.code")}</label>
        <input
          id="join-code"
          name="code"
          maxlength="40"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          placeholder="BCDF-GHJK"
        />
        <button class="primary big" ?disabled=${this.isBusy}>${say("join.go")}</button>
      </form>`;
  }

  #number({ number, device }: Redeemed) {
    return html`<p id="join-number">${say("join.pick", { device })}</p>
      <p class="the-number" role="group" aria-labelledby="join-number"><b>${number}</b></p>
      <p class="quiet" role="status">${say("join.waiting")}</p>`;
  }

  readonly #take = (): void => {
    const found = CODE.exec(location.hash);
    if (location.hash) history.replaceState(null, "", location.pathname);
    if (!found) return;
    this.#code = { id: found[1]!, secret: found[2]! };
    this.hasCode = true;
    this.failure = "";
  };

  async #present(code: Presented | null): Promise<void> {
    if (!code || this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    try {
      const redeemed = await this.#handoffs.redeem(code);
      if (redeemed.task) return location.replace(`/t/${redeemed.task}`);
      this.waiting = redeemed;
      this.#askSoon();
    } catch (error) {
      this.failure = whyNot(error);
    } finally {
      this.isBusy = false;
      this.#code = null;
      this.hasCode = false;
    }
  }

  #askSoon(): void {
    this.#asking = setTimeout(() => void this.#ask(), ASK);
  }

  async #ask(): Promise<void> {
    const { waiting } = this;
    if (!waiting || !this.isConnected) return;
    try {
      if (await this.#handoffs.collect(waiting)) {
        const task = (await this.api.me()).visiting?.task;
        return location.replace(task ? `/t/${task}` : "/");
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "unavailable") {
        this.waiting = null;
        this.failure = say("join.over");
        return;
      }
    }
    this.#askSoon();
  }

  get #handoffs(): Handoffs {
    return new Handoffs(this.api);
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof Problem)) return whyOf(error);
  if (error.status === 429) return say("join.often");
  if (error.code === "not_found") return say("join.bad");
  if (error.code === "conflict") return say("join.somebody");
  if (error.reason === "policy_device") return say("join.needs_key");
  return whyOf(error);
}

customElements.define("clew-handoff-page", HandoffPage);
