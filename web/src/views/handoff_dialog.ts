/**
 * Handing the task to another device: its plain address first, for a device that is signed in; a code to scan, or to type,
 * for one that is new; and, when that one has come, who it is and which number it shows. Owns a code while the dialog is
 * open: it must never be kept, nor said to anyone but the screen. Nobody is let in by a key that was still held down:
 * Decline has the focus.
 */

import { html, nothing, type TemplateResult } from "lit";

import { Problem, type Api } from "../sync/api";
import { Handoffs, type Address, type Offered, type Standing } from "../sync/handoffs";
import { onNotice, welcome } from "../sync/notices";
import type { Session } from "../sync/session";
import { inFull, say, type Plain } from "../words/language";
import { PageDialog } from "./dialog";
import { whyOf } from "./element";
import { askView, isLoopback, roleOf } from "./handoff_parts";
import { qrCode } from "./qr_code";

type Tier = "known" | "qr" | "code";

/** Milliseconds between two looks at how the offer stands; a notice makes for one at once. */
const LOOK = 2_000;
const ENDED: Record<string, Plain> = {
  declined: "handoff.ended_declined",
  mismatched: "handoff.ended_mismatched",
  elsewhere: "handoff.ended_elsewhere",
  reused: "handoff.ended_reused",
  guessed: "handoff.ended_guessed",
  expired: "handoff.ended_expired",
  known: "handoff.known",
};

export class HandoffDialog extends PageDialog {
  static override properties = {
    ...PageDialog.properties,
    api: { attribute: false },
    session: { attribute: false },
    task: {},
    tier: { state: true },
    address: { state: true },
    offered: { state: true },
    standing: { state: true },
    isPaused: { state: true },
    isKept: { state: true },
  };

  declare api: Api;
  declare session: Session;
  declare task: string;
  declare tier: Tier;
  declare address: Address | null;
  declare offered: Offered | null;
  declare standing: Standing | null;
  declare isPaused: boolean;
  declare isKept: boolean;
  #handoffs!: Handoffs;
  #clock: ReturnType<typeof setInterval> | null = null;
  #lookedAt = 0;
  #unhear: (() => void) | null = null;
  #asked = false;
  /** The session that the offer was made in, which alone may answer. */
  #named: string | null = null;

  constructor() {
    super();
    this.tier = "known";
    this.address = null;
    this.offered = null;
    this.standing = null;
    this.isPaused = false;
    this.isKept = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#handoffs = new Handoffs(this.api);
    void this.attempt(async () => ((this.address = await this.#handoffs.address(this.task)), ""));
    this.#clock = setInterval(() => this.#tick(), 500);
    this.#unhear = onNotice((notice) => {
      if (notice.kind === "handoff-claimed" && notice.handoff === this.offered?.id) void this.#look();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.#clock) clearInterval(this.#clock);
    this.#unhear?.();
    this.#withdraw();
  }

  protected heading(): string {
    return this.standing?.state === "claimed" ? say("handoff.asks", { task: this.standing.task }) : say("handoff.title");
  }

  protected content(): TemplateResult {
    if (this.isPaused) {
      return html`<p>${say("handoff.paused")}</p>
        <div class="acts"><button type="button" @click=${this.#resume}>${say("handoff.unpause")}</button></div>`;
    }
    if (this.tier === "known") return this.#known();
    const { standing } = this;
    if (standing?.state === "claimed" && standing.claim) {
      return askView(standing, standing.claim, {
        isBusy: this.isBusy,
        pick: (number) => void this.#pick(number),
        decline: () => void this.#decline(),
        block: () => void this.#block(),
      });
    }
    if (standing?.state === "approved") return html`<p role="status">${say("handoff.letting_in")}</p>`;
    if (standing?.state === "collected") return this.#in(standing);
    if (standing?.state === "ended") return this.#ended(standing.why);
    return this.#code();
  }

  protected override updated(): void {
    const isAsking = this.standing?.state === "claimed";
    if (isAsking && !this.#asked) this.querySelector<HTMLElement>(".decline")?.focus();
    this.#asked = isAsking;
  }

  /** For a device that is signed in. */
  #known() {
    return html`<section class="another">
      ${isLoopback() ? html`<p class="notice">${say("handoff.loopback")}</p>` : nothing}
      <div class="link-made">
        ${this.address ? qrCode(this.address.qr, say("handoff.address_code")) : nothing}
        <div>
          <p>${say("handoff.scan")}</p>
          <p class="address" role="group" aria-label=${say("handoff.address")}>${this.address?.url ?? ""}</p>
          <div class="acts">
            <button type="button" class="primary" ?disabled=${this.isBusy} @click=${() => this.#offer("qr")}>
              ${say("handoff.new")}
            </button>
          </div>
        </div>
      </div>
    </section>`;
  }

  /** For one that is new. */
  #code() {
    const { offered } = this;
    if (!offered) return this.#again();
    const gives = say("handoff.gives", { role: roleOf(offered.role), until: inFull(Date.parse(offered.until)) });
    return html`<section class="another">
      <div class="link-made">
        ${offered.qr ? qrCode(offered.qr, say("handoff.new_code")) : nothing}
        <div>
          ${
            offered.code
              ? html`<p>${say("handoff.type_how", { address: `${location.host}/h` })}</p>
                  <p class="typed-code"><code>${offered.code}</code></p>`
              : html`<p>${say("handoff.new_how")}</p>`
          }
          <p class="warning">${say("handoff.never")}</p>
          <p class="quiet">${gives}</p>
          <p class="quiet">${say("handoff.left", { time: left(offered.expires_at) })}</p>
          <div class="acts">
            <button type="button" @click=${() => this.#back()}>${say("handoff.back")}</button>
            ${
              offered.code
                ? nothing
                : html`<button type="button" ?disabled=${this.isBusy} @click=${() => this.#offer("code")}>
                    ${say("handoff.no_camera")}
                  </button>`
            }
          </div>
        </div>
      </div>
    </section>`;
  }

  #in({ claim, device, until }: Standing) {
    const name = claim?.name ?? "";
    if (this.isKept) return html`<p role="status">${say("handoff.kept", { name })}</p>`;
    return html`<p role="status">${say("handoff.in", { name, until: inFull(Date.parse(until)) })}</p>
      ${
        device
          ? html`<div class="acts">
              <button type="button" ?disabled=${this.isBusy} @click=${() => void this.#keep(device)}>${say("handoff.keep")}</button>
            </div>`
          : nothing
      }`;
  }

  #ended(why: string | null) {
    return html`<p role="status">${say(ENDED[why ?? ""] ?? "handoff.ended_expired")}</p>
      ${why === "known" ? nothing : this.#again()}`;
  }

  #again() {
    return html`<div class="acts">
      <button type="button" @click=${() => this.#back()}>${say("handoff.back")}</button>
      <button type="button" class="primary" ?disabled=${this.isBusy} @click=${() => this.#offer(this.tier)}>
        ${say("handoff.another")}
      </button>
    </div>`;
  }

  readonly #offer = (tier: Tier): void => {
    if (tier === "known") return;
    void this.attempt(async () => {
      this.tier = tier;
      this.standing = null;
      this.offered = null;
      this.#named = this.session.id;
      this.offered = await this.#handoffs.offer(this.task, tier, this.#named);
      if (!this.isConnected) this.#withdraw();
      return "";
    }, whyNot);
  };

  #back(): void {
    this.#withdraw();
    this.standing = null;
    this.failure = "";
    this.tier = "known";
  }

  async #pick(number: number): Promise<void> {
    await this.attempt(async () => {
      this.standing = await this.#handoffs.approve(this.offered!.id, number, this.#named);
      return "";
    }, () => "");
    if (this.standing?.state === "claimed") await this.#look();
  }

  async #decline(): Promise<void> {
    await this.attempt(async () => (await this.#handoffs.decline(this.offered!.id), ""));
    await this.#look();
  }

  async #block(): Promise<void> {
    await this.attempt(async () => {
      await this.#handoffs.pause();
      this.isPaused = true;
      this.standing = this.offered = null;
      return say("handoff.ended_declined");
    });
    this.querySelector<HTMLElement>(".dialog-head button")?.focus();
  }

  readonly #resume = (): void =>
    void this.attempt(async () => {
      await this.#handoffs.resume();
      this.isPaused = false;
      this.tier = "known";
      return "";
    });

  async #keep(device: string): Promise<void> {
    await this.attempt(async () => (await this.#handoffs.keep(device), (this.isKept = true), ""));
  }

  /** Count down; make the next code when one is too old, as long as somebody looks; see whether anybody has come. */
  #tick(): void {
    const { offered, standing } = this;
    if (!offered || standing?.state === "ended" || standing?.device) return;
    const isOld = Date.parse(offered.expires_at) <= Date.now();
    if (isOld && (!standing || standing.state === "offered")) {
      if (!document.hidden && !this.isBusy) this.#offer(this.tier);
      return;
    }
    this.requestUpdate();
    if (Date.now() - this.#lookedAt > (standing?.state === "approved" || standing?.state === "collected" ? LOOK / 4 : LOOK)) void this.#look();
  }

  async #look(): Promise<void> {
    const { offered } = this;
    if (!offered) return;
    this.#lookedAt = Date.now();
    try {
      const standing = await this.#handoffs.look(offered.id, this.#named);
      if (this.offered !== offered) return;
      this.standing = standing;
      if (standing.device) welcome(standing.device);
    } catch {
      return; // the next look may tell more
    }
  }

  /** Nobody shall come in by a code that is not shown any more. */
  #withdraw(): void {
    const { offered, standing } = this;
    this.offered = null;
    if (offered && (!standing || standing.state === "offered" || standing.state === "claimed"))
      void this.#handoffs.decline(offered.id).catch(() => undefined);
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof Problem) || error.status !== 429) return whyOf(error);
  return say("handoff.often", { n: Math.max(1, Math.ceil((error.wait ?? 60) / 60)) });
}

/** Minutes and seconds. */
function left(until: string): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - Date.now()) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

customElements.define("clew-handoff-dialog", HandoffDialog);
