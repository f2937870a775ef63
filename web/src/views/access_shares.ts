/**
 * A task's share links: made, copied, listed, withdrawn. Owns a link's secret while it is shown: it must never be kept, nor said
 * to anyone but the screen.
 */

import { html, nothing } from "lit";

import { Problem, type Api } from "../sync/api";
import { Access, type NewShare, type Share } from "../sync/access";
import { ago, inFull, say, type Plain } from "../words/language";
import { NOW_AND_THEN, PageElement, whileSeen, whyOf } from "./element";

const HOUR = 3600;
const LIVES: [seconds: number, name: Plain][] = [
  [HOUR, "shares.hour"],
  [24 * HOUR, "shares.day"],
  [7 * 24 * HOUR, "shares.week"],
  [30 * 24 * HOUR, "shares.month"],
];
const USES = [1, 10, 100];
const ROLES: [role: NewShare["role"], name: Plain][] = [
  ["viewer", "role.viewer"],
  ["commenter", "role.commenter"],
  ["editor", "role.editor"],
];

export class AccessShares extends PageElement {
  static override properties = {
    api: { attribute: false },
    task: {},
    shares: { state: true },
    url: { state: true },
    asked: { state: true },
    said: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare task: string;
  declare shares: Share[];
  /** Of the link that was just made. */
  declare url: string;
  /** Of which it is asked whether it shall go. */
  declare asked: string;
  declare said: string;
  declare failure: string;
  declare isBusy: boolean;
  #unwatch: (() => void) | null = null;

  constructor() {
    super();
    this.shares = [];
    this.url = "";
    this.asked = "";
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
    this.url = "";
  }

  override render() {
    return html`<details class="access">
      <summary><h3>${say("shares.title")}</h3></summary>
      <div class="another">
        <p class="quiet">${say("shares.how")}</p>
        <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
        <p class="quiet" role="status">${this.said}</p>
        ${this.url ? this.#shown() : this.#form()}
        ${this.shares.length ? html`<ul class="rows">${this.shares.map((one) => this.#row(one))}</ul>` : nothing}
      </div>
    </details>`;
  }

  #form() {
    return html`<form class="another share-new" @submit=${this.#make}>
      <label for="share-role">${say("shares.role")}</label>
      <select id="share-role" name="role">
        ${ROLES.map(([role, name]) => html`<option value=${role} ?selected=${role === "viewer"}>${say(name)}</option>`)}
      </select>
      <label for="share-life">${say("shares.life")}</label>
      <select id="share-life" name="ttl">
        ${LIVES.map(([ttl, name]) => html`<option value=${ttl} ?selected=${ttl === 7 * 24 * HOUR}>${say(name)}</option>`)}
      </select>
      <label for="share-uses">${say("shares.uses")}</label>
      <select id="share-uses" name="uses">
        ${USES.map((uses) => html`<option value=${uses} ?selected=${uses === 10}>${uses}</option>`)}
      </select>
      <label class="check"><input type="checkbox" name="sign_in" /> <span>${say("shares.sign_in")}</span></label>
      <label class="check"><input type="checkbox" name="registered" /> <span>${say("shares.registered")}</span></label>
      <div class="acts"><button class="primary" ?disabled=${this.isBusy}>${say("shares.make")}</button></div>
    </form>`;
  }

  #shown() {
    return html`<div class="another">
      <p class="warning">${say("shares.warning")}</p>
      <p class="address" role="group" aria-label=${say("shares.address")}>${this.url}</p>
      <div class="acts">
        <button type="button" class="primary" @click=${this.#copy}>${say("devices.copy")}</button>
        <button type="button" @click=${() => (this.url = "")}>${say("shares.done")}</button>
      </div>
    </div>`;
  }

  #row(one: Share) {
    const [ends, used] = [Date.parse(one.expires_at), one.used_at ? Date.parse(one.used_at) : null];
    const role = say(ROLES.find(([role]) => role === one.role)?.[1] ?? "role.viewer");
    const only = [one.sign_in ? say("shares.only_signed_in") : "", one.registered ? say("shares.only_registered") : ""];
    return html`<li data-share=${one.id}>
      <p class="row-name">
        <b>${role}</b> ${one.open ? nothing : html`<span class="badge">${say("shares.closed")}</span>`}
        <span class="meta">
          ${say("shares.used", { n: one.uses, all: one.most_uses })}
          ${used === null ? say("shares.unused") : html`<span title=${inFull(used)}>${say("shares.last", { when: ago(used) })}</span>`}
        </span>
        <span class="meta">${say("shares.until", { when: inFull(ends) })}</span>
        ${only.filter(Boolean).map((words) => html`<span class="meta">${words}</span>`)}
      </p>
      ${
        this.asked === one.id
          ? this.#withdrawing(one)
          : html`<div class="acts">
              <button type="button" class="plain" aria-label=${say("shares.withdraw_what", { role })} @click=${() => (this.asked = one.id)}>
                ${say("shares.withdraw")}
              </button>
            </div>`
      }
    </li>`;
  }

  #withdrawing(one: Share) {
    const withdraw = (): void =>
      void this.#attempt(async () => {
        await new Access(this.api, this.task).withdraw(one.id);
        this.asked = "";
        await this.#load();
        this.dispatchEvent(new CustomEvent("members-changed", { bubbles: true }));
        return say("shares.withdrawn");
      });
    return html`<div class="asking" role="group" aria-label=${say("shares.withdraw")}>
      <p>${say("shares.withdraw_sure")}</p>
      <div class="acts">
        <button type="button" class="primary" @click=${withdraw}>${say("shares.withdraw")}</button>
        <button type="button" @click=${() => (this.asked = "")}>${say("cancel")}</button>
      </div>
    </div>`;
  }

  readonly #make = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const wanted: NewShare = {
      role: data.get("role") as NewShare["role"],
      ttl: Number(data.get("ttl")),
      uses: Number(data.get("uses")),
      sign_in: data.has("sign_in"),
      registered: data.has("registered"),
    };
    void this.#attempt(async () => {
      const url = await new Access(this.api, this.task).share(wanted);
      if (this.isConnected) this.url = url;
      await this.#load();
      return "";
    });
  };

  readonly #copy = (): void =>
    void this.#attempt(async () => {
      const address = this.querySelector(".address")!;
      // over plain HTTP on another host than this machine a page has no clipboard
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
      this.failure = error instanceof Problem && error.code === "conflict" ? say("shares.too_many") : whyOf(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #load(): Promise<void> {
    this.shares = await new Access(this.api, this.task).shares();
  }
}

customElements.define("clew-access-shares", AccessShares);
