/** One quiet line below the tasks that offers a passkey to who has none, until they have one or say that they want none. */

import { html, nothing } from "lit";

import type { Api } from "../sync/api";
import { Accounts } from "../sync/account";
import { Abandoned, addPasskey, canUsePasskeys, PASSKEYS_CHANGED } from "../sync/passkeys";
import { say } from "../words/language";
import { whyPasskey } from "./account_passkeys";
import { PageElement } from "./element";

const DECLINED = "clew.no_passkey";

export class PasskeyOffer extends PageElement {
  static override properties = { api: { attribute: false }, state: { state: true }, failure: { state: true } };

  declare api: Api;
  declare state: "none" | "offered" | "added";
  declare failure: string;

  constructor() {
    super();
    this.state = "none";
    this.failure = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (!canUsePasskeys() || isDeclined()) return;
    void this.#look();
    addEventListener(PASSKEYS_CHANGED, this.#look);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener(PASSKEYS_CHANGED, this.#look);
  }

  override render() {
    if (this.state === "none") return nothing;
    if (this.state === "added") return html`<p class="offer-line quiet" role="status">${say("passkeys.added")}</p>`;
    return html`<div class="offer-line quiet">
      <p>${say("passkeys.offer")}</p>
      <div class="acts">
        <button type="button" @click=${this.#add}>${say("passkeys.add")}</button>
        <button type="button" class="plain" @click=${this.#decline}>${say("passkeys.not_now")}</button>
      </div>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
    </div>`;
  }

  readonly #look = async (): Promise<void> => {
    const known = await new Accounts(this.api).passkeys().catch(() => null);
    if (known && this.state !== "added") this.state = known.length ? "none" : "offered";
  };

  readonly #add = async (): Promise<void> => {
    this.failure = "";
    try {
      await addPasskey(new Accounts(this.api));
      this.state = "added";
    } catch (error) {
      if (!(error instanceof Abandoned)) this.failure = whyPasskey(error);
    }
  };

  readonly #decline = (): void => {
    this.state = "none";
    try {
      localStorage.setItem(DECLINED, "1");
    } catch {
      // nothing can be kept in this window; then it is asked again
    }
  };
}

function isDeclined(): boolean {
  try {
    return localStorage.getItem(DECLINED) !== null;
  } catch {
    return true;
  }
}

customElements.define("clew-passkey-offer", PasskeyOffer);
