/**
 * Where an invitation leads (`/i#SECRET`): one says what one wants to be called, and is in. Owns the secret while it is open; it
 * is out of the address before anything else can read, show or keep it, and nothing is burned before somebody presses.
 */

import { html, nothing } from "lit";

import { Problem, type Api, type Me } from "../sync/api";
import { Accounts } from "../sync/account";
import { say } from "../words/language";
import { go, PageElement, whyOf } from "./element";

export class InvitedPage extends PageElement {
  static override properties = {
    api: { attribute: false },
    me: { attribute: false },
    state: { state: true },
    organisation: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  /** Who is signed in here already. */
  declare me: Me | null;
  declare state: "looking" | "good" | "bad";
  declare organisation: string | null;
  declare failure: string;
  declare isBusy: boolean;
  readonly #secret = takeSecret();

  constructor() {
    super();
    this.me = null;
    this.state = "looking";
    this.organisation = null;
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = say("invited.title");
    void this.#look();
  }

  override render() {
    return html`<main class="list sign-in">
      <h1>${say("invited.title")}</h1>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      ${this.#content()}
    </main>`;
  }

  #content() {
    if (this.me) {
      return html`<p>${say("invited.already", { name: this.me.name })}</p>
        <button type="button" class="primary" @click=${() => go(this, "/")}>${say("invited.home")}</button>`;
    }
    if (this.state === "looking") return html`<p class="quiet" role="status">${say("loading")}</p>`;
    if (this.state === "bad") return html`<p>${say("invited.bad")}</p>`;
    return html`<p>${say("invited.how")}</p>
      <form class="another" @submit=${this.#join}>
        <label for="own-name">${say("invited.name")}</label>
        <input id="own-name" name="name" maxlength="100" autocomplete="nickname" required />
        <div class="acts"><button class="primary" ?disabled=${this.isBusy}>${say("invited.join")}</button></div>
      </form>
      ${
        this.organisation
          ? html`<p class="quiet">${say("invited.or")}</p>
              <button type="button" ?disabled=${this.isBusy} @click=${this.#byOrganisation}>
                ${say("invited.organisation", { name: this.organisation })}
              </button>`
          : nothing
      }`;
  }

  async #look(): Promise<void> {
    const accounts = new Accounts(this.api);
    try {
      const [ways, isGood] = await Promise.all([accounts.ways(), accounts.isGood(this.#secret)]);
      this.organisation = ways.organisation;
      this.state = isGood ? "good" : "bad";
    } catch (error) {
      if (error instanceof Problem && error.code === "invalid") this.state = "bad";
      else this.failure = whyOf(error);
    }
    await this.updateComplete;
    this.querySelector<HTMLElement>("#own-name")?.focus();
  }

  readonly #join = (event: SubmitEvent): void => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    if (!name) return;
    void this.#attempt(async () => {
      await new Accounts(this.api).accept(this.#secret, name);
      this.dispatchEvent(new CustomEvent("signed-in", { bubbles: true }));
    });
  };

  readonly #byOrganisation = (): void =>
    void this.#attempt(async () => {
      location.assign(await new Accounts(this.api).organisation(this.#secret));
    });

  async #attempt(act: () => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    try {
      await act();
    } catch (error) {
      if (error instanceof Problem && error.code === "unauthenticated") this.state = "bad";
      else this.failure = error instanceof Problem && error.code === "conflict" ? say("account.name_taken") : whyOf(error);
    } finally {
      this.isBusy = false;
    }
  }
}

function takeSecret(): string {
  const found = /^#([A-Za-z0-9_-]{1,200})$/.exec(location.hash)?.[1] ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname);
  return found;
}

customElements.define("clew-invited-page", InvitedPage);
