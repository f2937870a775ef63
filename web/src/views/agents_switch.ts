/** The switch in the task's menu by which people turn agents off, and an owner on again. Owns no rule: the server decides. */

import { html, nothing } from "lit";

import type { Api } from "../sync/api";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";

type Agents = "allowed" | "stopped";

export class AgentsSwitch extends PageElement {
  static override properties = {
    api: { attribute: false },
    task: {},
    isOwner: { attribute: "owner", type: Boolean },
    agents: { state: true },
    failure: { state: true },
  };

  declare api: Api;
  declare task: string;
  declare isOwner: boolean;
  declare agents: Agents | null;
  declare failure: string;

  constructor() {
    super();
    this.agents = null;
    this.failure = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.closest("[popover]")?.addEventListener("toggle", this.#opened);
  }

  override disconnectedCallback(): void {
    this.closest("[popover]")?.removeEventListener("toggle", this.#opened);
    super.disconnectedCallback();
  }

  override render() {
    const stopped = this.agents === "stopped";
    return html`${
        stopped
          ? html`<p class="quiet" role="status">${say("agents.stopped")}</p>`
          : html`<button type="button" @click=${() => this.#ask("POST", "/stop")}>${say("agents.stop")}</button>`
      }
      ${
        stopped && this.isOwner
          ? html`<button type="button" @click=${() => this.#ask("POST", "/allow")}>${say("agents.allow")}</button>`
          : nothing
      }
      ${this.failure ? html`<p class="failure" role="alert">${this.failure}</p>` : nothing}`;
  }

  /** Asked whenever the menu opens: somebody else may have turned it. */
  readonly #opened = (event: Event): void => {
    if ((event as ToggleEvent).newState === "open") void this.#ask("GET", "");
  };

  async #ask(method: "GET" | "POST", act: string): Promise<void> {
    try {
      const path = `/tasks/${encodeURIComponent(this.task)}/agents${act}`;
      this.agents = (await this.api.ask<{ agents: Agents }>(method, path)).agents;
      this.failure = "";
    } catch (error) {
      this.failure = whyOf(error);
    }
  }
}

customElements.define("clew-agents-switch", AgentsSwitch);
