/** A press by which one shows that it is oneself, where a task asks for that. Owns no rule: the server decides. */

import { html } from "lit";

import type { Api } from "../sync/api";
import { Accounts } from "../sync/account";
import { Abandoned, canUsePasskeys, prove } from "../sync/passkeys";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";

export class AccessConfirm extends PageElement {
  static override properties = { api: { attribute: false }, failure: { state: true }, isBusy: { state: true } };

  declare api: Api;
  declare failure: string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.failure = "";
    this.isBusy = false;
  }

  override render() {
    return html`<p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <div class="acts" ?hidden=${!canUsePasskeys()}>
        <button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.#prove}>${say("access.prove")}</button>
      </div>`;
  }

  readonly #prove = async (): Promise<void> => {
    this.isBusy = true;
    this.failure = "";
    try {
      await prove(new Accounts(this.api));
      this.dispatchEvent(new CustomEvent("confirmed"));
    } catch (error) {
      if (!(error instanceof Abandoned)) this.failure = whyOf(error);
    } finally {
      this.isBusy = false;
    }
  };
}

customElements.define("clew-access-confirm", AccessConfirm);
