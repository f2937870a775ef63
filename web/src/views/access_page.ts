/**
 * Where a share link leads (`/s#ID.SECRET`): one press, and one is in the task. Owns the secret while it is open; it is out of
 * the address before anything else can read, show or keep it, and nothing is burned before somebody presses.
 */

import { html, nothing } from "lit";

import { Problem, type Api, type Me } from "../sync/api";
import { Access } from "../sync/access";
import { say } from "../words/language";
import { ruleOf } from "./access_words";
import { PageElement, whyOf } from "./element";

const PARTS = /^#([0-9a-f-]{36})\.([A-Za-z0-9_-]{1,200})$/;

export class AccessPage extends PageElement {
  static override properties = {
    api: { attribute: false },
    me: { attribute: false },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  /** Who is signed in here already. */
  declare me: Me | null;
  declare failure: string;
  declare isBusy: boolean;
  readonly #link = takeLink();

  constructor() {
    super();
    this.me = null;
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = say("shared.title");
  }

  override render() {
    return html`<main class="list sign-in">
      <h1>${say("shared.title")}</h1>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      ${
        this.#link
          ? html`<p>${this.me ? say("shared.how_as", { name: this.me.name }) : say("shared.how_guest")}</p>
              <button type="button" class="primary" ?disabled=${this.isBusy} @click=${this.#join}>${say("shared.open")}</button>`
          : html`<p>${say("shared.bad")}</p>`
      }
      ${this.me ? html`<p><a href="/">${say("invited.home")}</a></p>` : nothing}
    </main>`;
  }

  readonly #join = async (): Promise<void> => {
    if (this.isBusy || !this.#link) return;
    this.isBusy = true;
    this.failure = "";
    try {
      const joined = await new Access(this.api).redeem(this.#link.id, this.#link.secret);
      this.dispatchEvent(new CustomEvent("joined", { bubbles: true, detail: `/t/${joined.task}` }));
    } catch (error) {
      const isGone = error instanceof Problem && error.code === "not_found";
      this.failure = isGone ? say("shared.gone") : (ruleOf(error) ?? whyOf(error));
    } finally {
      this.isBusy = false;
    }
  };
}

function takeLink(): { id: string; secret: string } | null {
  const found = PARTS.exec(location.hash);
  if (location.hash) history.replaceState(null, "", location.pathname);
  return found ? { id: found[1]!, secret: found[2]! } : null;
}

customElements.define("clew-access-page", AccessPage);
