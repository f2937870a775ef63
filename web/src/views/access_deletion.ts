/** Deleting a task: what goes with it, and a press that does it. Owns nothing but the asking; who may is the server's to say. */

import { html } from "lit";

import type { Api } from "../sync/api";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";

export class AccessDeletion extends PageElement {
  static override properties = {
    api: { attribute: false },
    task: {},
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare task: string;
  declare failure: string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.failure = "";
    this.isBusy = false;
  }

  override render() {
    return html`<details class="access">
      <summary><h3>${say("deletion.title")}</h3></summary>
      <div class="another">
        <p class="quiet">${say("deletion.what")}</p>
        <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
        <div class="acts"><button type="button" ?disabled=${this.isBusy} @click=${this.#delete}>${say("deletion.sure")}</button></div>
      </div>
    </details>`;
  }

  readonly #delete = async (): Promise<void> => {
    this.isBusy = true;
    this.failure = "";
    try {
      await this.api.ask("DELETE", `/tasks/${encodeURIComponent(this.task)}`);
      this.dispatchEvent(new CustomEvent("deleted"));
    } catch (error) {
      this.failure = whyOf(error);
    } finally {
      this.isBusy = false;
    }
  };
}

customElements.define("clew-access-deletion", AccessDeletion);
