/** A quiet word that a new device has come in, with one tap to put it out again. Owns no more than the last few. */

import { html, nothing } from "lit";

import type { Api, Me } from "../sync/api";
import { onNotice, type Joined } from "../sync/notices";
import { inFull, say } from "../words/language";
import { PageElement, whyOf } from "./element";

/** Milliseconds for which what was done is shown. */
const SHOWN = 6_000;
const MOST = 3;

export class HandoffNotices extends PageElement {
  static override properties = {
    api: { attribute: false },
    me: { attribute: false },
    joined: { state: true },
    said: { state: true },
    failure: { state: true },
  };

  declare api: Api;
  declare me: Me;
  declare joined: Joined[];
  declare said: string;
  declare failure: string;
  #unhear: (() => void) | null = null;
  readonly #welcomed = new Set<string>();

  constructor() {
    super();
    this.joined = [];
    this.said = "";
    this.failure = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unhear = onNotice((notice) => {
      if (notice.kind === "welcomed") this.#welcomed.add(notice.device);
      else if (notice.kind === "device-joined" && notice.device.id !== this.me.device) this.joined = [...this.joined, notice];
      this.joined = this.joined.filter((one) => !this.#welcomed.has(one.device.id)).slice(-MOST);
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unhear?.();
  }

  override render() {
    return html`<div class="toasts" role="status">
      ${this.joined.map((one) => this.#toast(one))} ${this.said ? html`<p class="toast">${this.said}</p>` : nothing}
      ${this.failure ? html`<p class="toast failure">${this.failure}</p>` : nothing}
    </div>`;
  }

  #toast(one: Joined) {
    const { device, until } = one;
    const forgo = (): void => void (this.joined = this.joined.filter((other) => other !== one));
    return html`<div class="toast">
      <p>
        ${say("joined.new", { name: device.name })}
        ${until ? say("joined.one_task", { until: inFull(Date.parse(until)) }) : nothing}
      </p>
      <div class="acts">
        ${
          this.me.visiting
            ? nothing
            : html`<button type="button" @click=${() => void this.#revoke(one)}>${say("joined.not_me")}</button>`
        }
        <button type="button" class="plain" @click=${forgo}>${say("joined.fine")}</button>
      </div>
    </div>`;
  }

  async #revoke(one: Joined): Promise<void> {
    this.failure = "";
    try {
      await this.api.revokeDevice(one.device.id);
      this.joined = this.joined.filter((other) => other !== one);
      this.said = say("joined.gone", { name: one.device.name });
      setTimeout(() => (this.said = ""), SHOWN);
    } catch (error) {
      this.failure = whyOf(error);
    }
  }
}

customElements.define("clew-handoff-notices", HandoffNotices);
