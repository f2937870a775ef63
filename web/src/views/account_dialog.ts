/** One's account: what one is called, in which language one is spoken to, one's passkeys, and whom one invites. */

import { html, nothing } from "lit";

import { Problem, type Api } from "../sync/api";
import { Accounts, type Account } from "../sync/account";
import { freshly } from "../sync/passkeys";
import { leaveLanguage, say, setLanguage, type Language } from "../words/language";
import "./account_data";
import "./account_invitations";
import "./account_passkeys";
import { PageDialog } from "./dialog";
import { follow, whyOf } from "./element";
import { goToOrganisation } from "./sign_in";

export class AccountDialog extends PageDialog {
  static override properties = {
    ...PageDialog.properties,
    api: { attribute: false },
    account: { state: true },
    organisation: { state: true },
  };

  declare api: Api;
  declare account: Account | null;
  /** The organisation by which one could sign in too. */
  declare organisation: string | null;

  constructor() {
    super();
    this.account = null;
    this.organisation = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => {
      const accounts = new Accounts(this.api);
      const [account, ways] = await Promise.all([accounts.account(), accounts.ways()]);
      this.account = account;
      this.organisation = ways.organisation;
      return "";
    });
  }

  protected heading(): string {
    return say("account.title");
  }

  protected content() {
    const { account } = this;
    if (!account) return this.failure ? html`` : html`<p class="quiet">${say("loading")}</p>`;
    return html`<form class="another" @submit=${this.#rename}>
        <label for="account-name">${say("account.name")}</label>
        <div class="row">
          <input id="account-name" name="name" maxlength="100" autocomplete="nickname" required .value=${account.name} />
          <button ?disabled=${this.isBusy}>${say("save")}</button>
        </div>
      </form>
      <div class="another">
        <label for="account-language">${say("account.language")}</label>
        <select id="account-language" @change=${this.#speak}>
          <option value="auto" ?selected=${!account.language}>${say("account.auto")}</option>
          <option value="en" lang="en" ?selected=${account.language === "en"}>English</option>
          <option value="zh" lang="zh" ?selected=${account.language === "zh"}>中文</option>
        </select>
        <label class="check">
          <input type="checkbox" ?checked=${account.preferences.continuation !== false} @change=${this.#ask} />
          <span>${say("account.continuation")}</span>
        </label>
        ${account.plan === "standard" ? nothing : html`<p class="quiet">${say("account.plan", { plan: account.plan })}</p>`}
      </div>
      <clew-passkeys .api=${this.api}></clew-passkeys>
      ${this.#organisationPart(account)}
      ${account.owner ? html`<clew-invitations .api=${this.api}></clew-invitations>` : nothing}
      <section class="another">
        <h3>${say("account.programs")}</h3>
        <p class="quiet">${say("account.programs_how")}</p>
        <a class="button" href="/device" @click=${this.#toDevice}>${say("account.enter_code")}</a>
      </section>
      <clew-own-data .api=${this.api} name=${account.name}></clew-own-data>`;
  }

  #organisationPart(account: Account) {
    if (!this.organisation) return nothing;
    if (account.organisations.length) {
      return html`<section class="another">
        <h3>${this.organisation}</h3>
        <p class="quiet">${say("account.organisation_is")}</p>
      </section>`;
    }
    const go = (): void =>
      void this.attempt(async () => {
        const accounts = new Accounts(this.api);
        goToOrganisation(await freshly(accounts, () => accounts.addOrganisation()));
        return "";
      });
    return html`<section class="another">
      <h3>${this.organisation}</h3>
      <button type="button" ?disabled=${this.isBusy} @click=${go}>${say("account.organisation_add", { name: this.organisation })}</button>
    </section>`;
  }

  readonly #rename = (event: SubmitEvent): void => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    if (!name) return;
    void this.attempt(
      async () => {
        this.account = await new Accounts(this.api).change({ name });
        return say("account.renamed", { name: this.account.name });
      },
      (error) => (error instanceof Problem && error.code === "conflict" ? say("account.name_taken") : whyOf(error)),
    );
  };

  readonly #speak = (event: Event): void => {
    const language = (event.target as HTMLSelectElement).value as Language | "auto";
    void this.attempt(async () => {
      this.account = await new Accounts(this.api).change({ language });
      if (language === "auto") leaveLanguage();
      else setLanguage(language);
      return "";
    });
  };

  readonly #ask = (event: Event): void => {
    const continuation = (event.target as HTMLInputElement).checked;
    void this.attempt(async () => {
      this.account = await new Accounts(this.api).change({ preferences: { continuation } });
      return "";
    });
  };

  readonly #toDevice = (event: MouseEvent): void => {
    follow(this, event, "/device");
    if (event.defaultPrevented) this.close();
  };
}

customElements.define("clew-account-dialog", AccountDialog);
