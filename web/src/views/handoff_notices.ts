/** A quiet word that a new device has come in, with one tap to put it out again. Owns no more than the last few. */

import { html, nothing } from "lit";

import type { Api, Me } from "../sync/api";
import { onNotice, type Joined } from "../sync/notices";
import { inFull, say } from "../words/language";
import { PageElement, whyOf } from "./element";

/** Milliseconds for which what was done is shown. */
const SHOWN = 6_000;
/** For which a new device is told of; the list of devices goes on having it. */
const TOLD = 20_000;
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
      else if (notice.kind === "device-joined" && notice.device.id !== this.me.device) this.#tell(notice);
      this.joined = this.joined.filter((one) => !this.#welcomed.has(one.device.id)).slice(-MOST);
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unhear?.();
  }

  #tell(one: Joined): void {
    this.joined = [...this.joined, one];
    setTimeout(() => this.#lapse(one), TOLD);
  }

  /** Nothing goes from under somebody's pointer or focus. */
  #lapse(one: Joined): void {
    if (this.querySelector(".toasts:is(:hover, :focus-within)")) setTimeout(() => this.#lapse(one), SHOWN);
    else this.#forgo(one);
  }

  #forgo(one: Joined): void {
    this.joined = this.joined.filter((other) => other !== one);
  }

  /** Where a notice stands in the page rather than over it, a task leaves it the room. */
  readonly #sized = new ResizeObserver(([entry]) => {
    const toasts = entry!.target as HTMLElement;
    const height = getComputedStyle(toasts).position === "static" ? toasts.offsetHeight : 0;
    document.documentElement.style.setProperty("--toasts", `${height}px`);
  });

  protected override firstUpdated(): void {
    this.#sized.observe(this.querySelector(".toasts")!);
  }

  override render() {
    return html`<div class="toasts" role="status">
      ${this.joined.map((one) => this.#toast(one))} ${this.said ? html`<p class="toast">${this.said}</p>` : nothing}
      ${this.failure ? html`<p class="toast failure">${this.failure}</p>` : nothing}
    </div>`;
  }

  #toast(one: Joined) {
    const { device, until } = one;
    const forgo = (): void => this.#forgo(one);
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
        <button type="button" class="plain" @click=${forgo}>${say(this.me.visiting ? "joined.dismiss" : "joined.fine")}</button>
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
