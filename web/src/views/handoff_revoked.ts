/** What stands where the page was, once this device was signed out: why, and the words that were not sent. */

import { html, nothing } from "lit";

import { say } from "../words/language";
import { PageElement } from "./element";

export class RevokedPage extends PageElement {
  static override properties = { words: { attribute: false }, why: { attribute: false }, said: { state: true } };

  declare words: string;
  /** Absent where it was done on another device. */
  declare why: string | undefined;
  declare said: string;

  constructor() {
    super();
    this.words = "";
    this.said = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = "Clew";
  }

  override render() {
    return html`<main class="list">
      <h1>${say("revoked.title")}</h1>
      <p role="alert">${this.why ?? say("revoked.why")}</p>
      ${this.words ? this.#unsent() : nothing}
      <div class="acts">
        <button type="button" @click=${() => this.dispatchEvent(new CustomEvent("on"))}>${say("revoked.on")}</button>
      </div>
    </main>`;
  }

  #unsent() {
    return html`<section class="unsent">
      <p class="warning">${say("revoked.words")}</p>
      <label class="unseen" for="unsent-words">${say("revoked.unsent")}</label>
      <textarea id="unsent-words" readonly rows="8" .value=${this.words}></textarea>
      <div class="acts"><button type="button" class="primary" @click=${this.#copy}>${say("revoked.copy")}</button></div>
      <p class="quiet" role="status">${this.said}</p>
    </section>`;
  }

  readonly #copy = async (): Promise<void> => {
    const field = this.querySelector("textarea")!;
    field.select();
    const isCopied = await navigator.clipboard?.writeText(this.words).then(
      () => true,
      () => false,
    );
    this.said = say(isCopied ? "devices.copied" : "devices.selected");
  };
}

customElements.define("clew-revoked-page", RevokedPage);
