/**
 * Where one lets a program in that has no browser (`/device`): type or compare the code that it shows, see what it asks for,
 * and decide. Owns the question; must never decide by being opened, nor by Enter before anything was read.
 */

import { html, nothing } from "lit";

import { Problem, type Api, type Task } from "../sync/api";
import { Accounts, type Asking } from "../sync/account";
import { say, type Plain } from "../words/language";
import { follow, PageElement, whyOf } from "./element";

const CODE = /^#([A-Za-z-]{8,12})$/;
const HOUR = 3600;
const SPANS: [seconds: number, name: Plain][] = [
  [HOUR, "grant.hour"],
  [24 * HOUR, "grant.day"],
  [30 * 24 * HOUR, "grant.month"],
];
const ROLES: [role: Asking["role"], name: Plain][] = [
  ["viewer", "role.viewer"],
  ["commenter", "role.commenter"],
  ["editor", "role.editor"],
  ["owner", "role.owner"],
];

type State = { kind: "typing" } | { kind: "asked"; code: string; asking: Asking } | { kind: "over"; said: string };

export class DevicePage extends PageElement {
  static override properties = {
    api: { attribute: false },
    state: { state: true },
    tasks: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare state: State;
  declare tasks: Task[];
  declare failure: string;
  declare isBusy: boolean;
  readonly #offered = takeCode();

  constructor() {
    super();
    this.state = { kind: "typing" };
    this.tasks = [];
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = say("grant.title");
  }

  override render() {
    return html`<header class="list-head">
        <a class="brand" href="/" @click=${(event: MouseEvent) => follow(this, event, "/")}>Clew</a>
      </header>
      <main class="list">
        <h1>${say("grant.title")}</h1>
        <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
        ${this.#content()}
      </main>`;
  }

  #content() {
    const { state } = this;
    if (state.kind === "over") return html`<p role="status">${state.said}</p>`;
    if (state.kind === "asked") return this.#question(state.asking);
    return html`<p>${say(this.#offered ? "grant.compare" : "grant.how")}</p>
      <form class="another" @submit=${this.#look}>
        <label for="code">${say("grant.code")}</label>
        <input
          id="code"
          class="code"
          name="code"
          maxlength="12"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          placeholder="WDJB-MJHT"
          .value=${this.#offered}
          required
        />
        <p class="quiet">${say("grant.warning")}</p>
        <div class="acts">
          <button class="primary" ?disabled=${this.isBusy}>${say(this.#offered ? "grant.same" : "grant.next")}</button>
        </div>
      </form>`;
  }

  #question(asking: Asking) {
    const what = asking.agent ? say("grant.agent", { name: asking.agent, client: asking.client }) : say("grant.client", { client: asking.client });
    return html`<form class="another grant" @submit=${(event: SubmitEvent) => event.preventDefault()}>
      <p class="warning">${what}</p>
      <label for="grant-task">${say("grant.tasks")}</label>
      <select id="grant-task" name="task">
        <option value="">${say("grant.all_tasks")}</option>
        ${this.tasks.map((task) => html`<option value=${task.id}>${task.name}</option>`)}
      </select>
      ${
        asking.agent
          ? nothing
          : html`<label for="grant-role">${say("grant.role")}</label>
              <select id="grant-role" name="role">
                ${upTo(ROLES, asking.role).map(([role, name]) => html`<option value=${role} ?selected=${role === asking.role}>${say(name)}</option>`)}
              </select>`
      }
      <label for="grant-ttl">${say("grant.span")}</label>
      <select id="grant-ttl" name="ttl">
        ${upTo(SPANS, nearest(asking.ttl)).map(([span, name]) => html`<option value=${span} ?selected=${span === nearest(asking.ttl)}>${say(name)}</option>`)}
      </select>
      <p class="quiet">${say("grant.consequence")}</p>
      <div class="acts">
        <button type="button" id="decline" ?disabled=${this.isBusy} @click=${() => this.#decide("decline")}>
          ${say("grant.decline")}
        </button>
        <button type="button" ?disabled=${this.isBusy} @click=${() => this.#decide("approve")}>
          ${say("grant.approve")}
        </button>
      </div>
    </form>`;
  }

  readonly #look = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const code = String(new FormData(event.target as HTMLFormElement).get("code") ?? "");
    await this.#attempt(async () => {
      const [asking, tasks] = await Promise.all([new Accounts(this.api).asking(code), this.api.tasks()]);
      this.tasks = tasks.filter((task) => task.status === "open" || task.status === "paused");
      this.state = { kind: "asked", code, asking };
    });
    await this.updateComplete;
    this.querySelector<HTMLElement>("#decline")?.focus();
  };

  #decide(verdict: "approve" | "decline"): void {
    if (this.state.kind !== "asked") return;
    const { code, asking } = this.state;
    const data = new FormData(this.querySelector("form")!);
    const bounds = {
      role: (data.get("role") ?? asking.role) as Asking["role"],
      ttl: Number(data.get("ttl")),
      task: String(data.get("task")) || null,
    };
    void this.#attempt(async () => {
      await new Accounts(this.api).decide(code, verdict, bounds);
      this.state = { kind: "over", said: say(verdict === "approve" ? "grant.approved" : "grant.declined") };
    });
  }

  async #attempt(act: () => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    try {
      await act();
    } catch (error) {
      this.failure = whyNot(error);
    } finally {
      this.isBusy = false;
    }
  }
}

function takeCode(): string {
  const found = CODE.exec(location.hash)?.[1]?.toUpperCase() ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname);
  return found;
}

function nearest(ttl: number): number {
  return SPANS.map(([span]) => span).reduce((best, span) => (Math.abs(span - ttl) < Math.abs(best - ttl) ? span : best));
}

/** Nothing beyond what is asked for. */
function upTo<T>(choices: [T, Plain][], most: T): [T, Plain][] {
  return choices.slice(0, choices.findIndex(([choice]) => choice === most) + 1);
}

function whyNot(error: unknown): string {
  if (error instanceof Problem && error.status === 429) return say("grant.too_often");
  if (error instanceof Problem && error.code === "not_found") return say("grant.no_such");
  return whyOf(error);
}

customElements.define("clew-device-page", DevicePage);
