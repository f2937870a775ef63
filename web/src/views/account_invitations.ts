/**
 * Whom the owner of this server invites. Owns a link's secret while it is shown: it must never be kept, nor said to anyone but
 * the screen.
 */

import { html, nothing } from "lit";

import type { Api, Link } from "../sync/api";
import { Accounts, type Invitation } from "../sync/account";
import { ago, inFull, say } from "../words/language";
import { NOW_AND_THEN, PageElement, whileSeen, whyOf } from "./element";
import { qrCode } from "./qr_code";

export class Invitations extends PageElement {
  static override properties = {
    api: { attribute: false },
    open: { state: true },
    link: { state: true },
    said: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare open: Invitation[];
  declare link: Link | null;
  declare said: string;
  declare failure: string;
  declare isBusy: boolean;
  #unwatch: (() => void) | null = null;

  constructor() {
    super();
    this.open = [];
    this.link = null;
    this.said = "";
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#attempt(async () => (await this.#load(), ""));
    this.#unwatch = whileSeen(() => this.isBusy || void this.#load().catch(() => undefined), NOW_AND_THEN);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unwatch?.();
    this.link = null;
  }

  override render() {
    return html`<section class="another" aria-labelledby="invitations-title">
      <h3 id="invitations-title">${say("invitations.title")}</h3>
      <p class="quiet">${say("invitations.how")}</p>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <p class="quiet" role="status">${this.said}</p>
      ${this.link ? this.#shown(this.link) : nothing}
      <button type="button" ?disabled=${this.isBusy} @click=${this.#make}>
        ${say(this.link ? "invitations.make_another" : "invitations.make")}
      </button>
      ${
        this.open.length
          ? html`<ul class="rows">
              ${this.open.map((one) => this.#row(one))}
            </ul>`
          : nothing
      }
    </section>`;
  }

  #shown(link: Link) {
    return html`<div class="link-made">
      ${qrCode(link.qr, say("invitations.code"))}
      <div>
        <p class="warning">${say("invitations.warning")}</p>
        <p class="address" role="group" aria-label=${say("invitations.address")}>${link.url}</p>
        <div class="acts"><button type="button" @click=${this.#copy}>${say("devices.copy")}</button></div>
      </div>
    </div>`;
  }

  #row(one: Invitation) {
    const [made, ends] = [Date.parse(one.created_at), Date.parse(one.expires_at)];
    const takeBack = (): void =>
      void this.#attempt(async () => {
        await new Accounts(this.api).takeBack(one.id);
        this.link = null;
        await this.#load();
        return say("invitations.taken_back");
      });
    return html`<li>
      <p class="row-name">
        <span title=${inFull(made)}>${say("invitations.made", { when: ago(made) })}</span>
        <span class="meta">${say("invitations.until", { when: inFull(ends) })}</span>
      </p>
      <div class="acts"><button type="button" class="plain" @click=${takeBack}>${say("invitations.take_back")}</button></div>
    </li>`;
  }

  readonly #make = (): void =>
    void this.#attempt(async () => {
      const made = await new Accounts(this.api).invite();
      if (this.isConnected) this.link = made;
      await this.#load();
      return "";
    });

  readonly #copy = (): void =>
    void this.#attempt(async () => {
      const address = this.querySelector(".address")!;
      const isCopied = await navigator.clipboard?.writeText(address.textContent!).then(
        () => true,
        () => false,
      );
      if (isCopied) return say("devices.copied");
      getSelection()?.selectAllChildren(address);
      return say("devices.selected");
    });

  async #attempt(act: () => Promise<string>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    this.said = "";
    try {
      this.said = await act();
    } catch (error) {
      this.failure = whyOf(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #load(): Promise<void> {
    this.open = await new Accounts(this.api).invitations();
  }
}

customElements.define("clew-invitations", Invitations);
