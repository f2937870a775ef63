/** A press by which one shows that it is oneself, where a task asks for that. Owns no rule: the server decides. */

import { html } from "lit";

import type { Api } from "../sync/api";
import { Accounts } from "../sync/account";
import { Abandoned, canUsePasskeys, PASSKEYS_CHANGED, prove } from "../sync/passkeys";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";
import { SHOW_ACCOUNT } from "./menu";

export class AccessConfirm extends PageElement {
  static override properties = { api: { attribute: false }, failure: { state: true }, isBusy: { state: true }, isWithout: { state: true } };

  declare api: Api;
  declare failure: string;
  declare isBusy: boolean;
  /** Whether the person has no passkey to confirm with. */
  declare isWithout: boolean;

  constructor() {
    super();
    this.failure = "";
    this.isBusy = false;
    this.isWithout = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener(PASSKEYS_CHANGED, this.#look);
    void this.#look();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener(PASSKEYS_CHANGED, this.#look);
  }

  override render() {
    if (this.isWithout) {
      const show = (): void => void this.dispatchEvent(new CustomEvent(SHOW_ACCOUNT, { bubbles: true }));
      return html`<p>${say("access.no_passkey")} <button type="button" @click=${show}>${say("access.to_account")}</button></p>`;
    }
    return html`<p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <div class="acts" ?hidden=${!canUsePasskeys()}>
        <button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.#prove}>${say("access.prove")}</button>
      </div>`;
  }

  readonly #look = async (): Promise<void> => {
    const known = await new Accounts(this.api).passkeys().catch(() => null);
    this.isWithout = known?.length === 0;
  };

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
