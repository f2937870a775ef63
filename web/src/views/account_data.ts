/** What the server has of a person: taking it along, and being erased. Owns the questions; nothing is erased by one press. */

import { html, nothing } from "lit";

import { Problem, type Api } from "../sync/api";
import { Accounts, type Erasure } from "../sync/account";
import { Abandoned, freshly } from "../sync/passkeys";
import { say } from "../words/language";
import { PageElement, whyOf } from "./element";
import { SIGN_OUT } from "./menu";
import { saveFile } from "./saving";

export class OwnData extends PageElement {
  static override properties = {
    api: { attribute: false },
    name: {},
    plan: { state: true },
    said: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare name: string;
  /** What erasing would touch, once it was asked. */
  declare plan: Erasure | null;
  declare said: string;
  declare failure: string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.name = "";
    this.plan = null;
    this.said = "";
    this.failure = "";
    this.isBusy = false;
  }

  override render() {
    return html`<section class="another" aria-labelledby="own-title">
      <h3 id="own-title">${say("own.title")}</h3>
      <p class="quiet">${say("own.how")}</p>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <p class="quiet" role="status">${this.said}</p>
      <div class="acts">
        <button type="button" ?disabled=${this.isBusy} @click=${this.#download}>${say("own.download")}</button>
        ${
          this.plan
            ? nothing
            : html`<button type="button" class="plain" ?disabled=${this.isBusy} @click=${this.#ask}>${say("own.erase")}</button>`
        }
      </div>
      ${this.plan ? this.#erasing(this.plan) : nothing}
    </section>`;
  }

  #erasing(plan: Erasure) {
    return html`<form class="asking" @submit=${this.#erase}>
      <p>${say("own.erase_what", { n: plan.private, m: plan.shared })}</p>
      <label class="tick"><input type="checkbox" name="texts" /> <span>${say("own.texts")}</span></label>
      <label for="own-confirm">${say("own.confirm", { name: this.name })}</label>
      <input id="own-confirm" name="confirm" maxlength="200" autocomplete="off" required />
      <div class="acts">
        <button type="button" @click=${() => (this.plan = null)}>${say("cancel")}</button>
        <button ?disabled=${this.isBusy}>${say("own.erase_sure")}</button>
      </div>
    </form>`;
  }

  readonly #download = (): void =>
    void this.#attempt(async (accounts) => {
      const all = await accounts.everything();
      saveFile({ name: "clew-export.json", content: new Blob([JSON.stringify(all, null, 1)], { type: "application/json" }) });
      this.said = say("own.downloaded");
    });

  readonly #ask = (): void =>
    void this.#attempt(async (accounts) => {
      this.plan = await accounts.erase({ confirm: this.name, texts: false, dry_run: true });
    });

  readonly #erase = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const confirm = String(data.get("confirm") ?? "").trim();
    if (confirm !== this.name) return void (this.failure = say("own.not_name"));
    void this.#attempt(async (accounts) => {
      await accounts.erase({ confirm, texts: data.has("texts"), dry_run: false });
      this.dispatchEvent(new CustomEvent(SIGN_OUT, { detail: say("own.erased"), bubbles: true })); // the page then forgets what it has kept
    });
  };

  /** What takes a person who has just shown that it is them. */
  async #attempt(act: (accounts: Accounts) => Promise<void>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    this.said = "";
    const accounts = new Accounts(this.api);
    try {
      await freshly(accounts, () => act(accounts));
    } catch (error) {
      if (!(error instanceof Abandoned)) this.failure = error instanceof Problem && error.code === "conflict" ? error.why : whyOf(error);
    } finally {
      this.isBusy = false;
    }
  }
}

customElements.define("clew-own-data", OwnData);
