/** The way in for who is not signed in: a passkey, the organisation, or a link. Owns the choice; the doors are the server's. */

import { html, nothing } from "lit";

import type { Api } from "../sync/api";
import { Accounts, type Ways } from "../sync/account";
import { Abandoned, addressForPasskeys, canUsePasskeys, enterByPasskey } from "../sync/passkeys";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";

/** Where in the page to go on once one is back from the organisation. */
const BACK = "clew.back";

export class SignIn extends PageElement {
  static override properties = {
    api: { attribute: false },
    why: {},
    anew: { type: Boolean },
    ways: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  /** What happened, if something did. */
  declare why: string;
  /** Whether this browser's key is another person's. */
  declare anew: boolean;
  declare ways: Ways | null;
  declare failure: string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.why = "";
    this.anew = false;
    this.ways = null;
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = say("sign_in.title");
    void this.#look();
  }

  override render() {
    const elsewhere = addressForPasskeys();
    return html`<main class="list sign-in">
      <h1>Clew</h1>
      ${this.why ? html`<p class="notice" role="status">${this.why}</p>` : nothing}
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <div class="ways">
        ${
          canUsePasskeys()
            ? html`<button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.#byPasskey}>
                ${say("sign_in.passkey")}
              </button>`
            : nothing
        }
        ${
          this.ways?.organisation
            ? html`<button type="button" ?disabled=${this.isBusy} @click=${this.#byOrganisation}>
                ${say("sign_in.organisation", { name: this.ways.organisation })}
              </button>`
            : nothing
        }
      </div>
      <p>${say("sign_in.how")}</p>
      <pre tabindex="0"><code>clew link</code></pre>
      <p><a href="/h">${say("join.have_code")}</a></p>
      ${
        elsewhere
          ? html`<p class="quiet">${say("sign_in.elsewhere")} <a href=${elsewhere + location.pathname}>${elsewhere}</a></p>`
          : nothing
      }
    </main>`;
  }

  async #look(): Promise<void> {
    try {
      this.ways = await new Accounts(this.api).ways();
    } catch {
      return; // a server that is away says so when one of the ways is tried
    }
    if (this.ways.proxy && !this.why) await this.#enter(() => new Accounts(this.api).enterByProxy());
  }

  readonly #byPasskey = (): void => void this.#enter(() => enterByPasskey(new Accounts(this.api)));

  readonly #byOrganisation = (): void =>
    void this.#attempt(async () => goToOrganisation(await new Accounts(this.api).organisation(undefined, this.anew)));

  async #enter(act: () => Promise<void>): Promise<void> {
    await this.#attempt(async () => {
      await act();
      this.dispatchEvent(new CustomEvent("signed-in", { bubbles: true }));
    });
  }

  async #attempt(act: () => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Abandoned)) this.failure = whySignIn(error);
    } finally {
      this.isBusy = false;
    }
  }
}

/** Leave for the organisation's own page, to come back to this one. */
export function goToOrganisation(address: string): void {
  sessionStorage.setItem(BACK, location.pathname);
  location.assign(address);
}

/** Where one was before one left for it. */
export function takeBack(): string | null {
  const path = sessionStorage.getItem(BACK);
  sessionStorage.removeItem(BACK);
  return path;
}

function whySignIn(error: unknown): string {
  const code = (error as { code?: string }).code;
  return code === "unauthenticated" ? say("sign_in.not_accepted") : whyOf(error);
}

customElements.define("clew-sign-in", SignIn);
