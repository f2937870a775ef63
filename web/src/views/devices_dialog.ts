/**
 * One's own devices, and a link for another one. Owns a link's secret while the dialog is open: it must never be kept, put
 * into an attribute that outlives the dialog, or said to anyone but the screen.
 */

import { html, nothing } from "lit";

import type { Api, Device, Link } from "../sync/api";
import { DeviceKey } from "../sync/device_key";
import { Handoffs } from "../sync/handoffs";
import { ago, inFull, say, type Plain } from "../words/language";
import { PageDialog } from "./dialog";
import { qrCode } from "./qr_code";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

const LEVELS: [level: Device["level"], name: Plain, means: Plain][] = [
  ["hardware", "devices.level_hardware", "devices.means_hardware"],
  ["software", "devices.level_software", "devices.means_software"],
  ["none", "devices.level_none", "devices.means_none"],
];
const KINDS: Record<string, Plain> = { browser: "devices.kind_browser", phone: "devices.kind_phone" };

export class DevicesDialog extends PageDialog {
  static override properties = {
    ...PageDialog.properties,
    api: { attribute: false },
    devices: { state: true },
    link: { state: true },
    asked: { state: true },
  };

  declare api: Api;
  declare devices: Device[] | null;
  declare link: Link | "expired" | null;
  /** What is being asked: `revoke ID` or `rename ID`. */
  declare asked: string;
  #clock: ReturnType<typeof setInterval> | null = null;

  constructor() {
    super();
    this.devices = null;
    this.link = null;
    this.asked = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => (await this.#load(), ""));
    this.#clock = setInterval(() => this.#age(), 5_000);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.#clock) clearInterval(this.#clock);
    this.link = null;
  }

  protected heading(): string {
    return say("devices.title");
  }

  protected content() {
    return html`<ul class="rows">
        ${(this.devices ?? []).map((one) => this.#device(one))}
      </ul>
      ${this.#unproven()}
      <details class="levels">
        <summary>${say("devices.levels")}</summary>
        <dl>
          ${LEVELS.map(([level, name, means]) => html`<dt>${badge(level, say(name))}</dt><dd class="meta">${say(means)}</dd>`)}
        </dl>
      </details>
      <section class="another">
        <h3>${say("devices.add")}</h3>
        <p class="quiet">${say(LOOPBACK.test(location.hostname) ? "devices.loopback" : "devices.add_how")}</p>
        ${this.#another()}
      </section>`;
  }

  /** Why this very device can prove nothing, where it can't. */
  #unproven() {
    if (!isSecureContext) return html`<p class="lacking">${say("devices.insecure")}</p>`;
    const here = this.devices?.find((one) => one.current);
    return here?.level === "none" && DeviceKey.isPossible ? html`<p class="lacking">${say("devices.keyless")}</p>` : nothing;
  }

  #device(one: Device) {
    const [signedIn, seen] = [Date.parse(one.created_at), Date.parse(one.seen_at)];
    const [level, name] = LEVELS.find(([level]) => level === one.level) ?? LEVELS[2]!;
    return html`<li data-device=${one.id}>
      ${
        this.asked === `rename ${one.id}`
          ? this.#renaming(one)
          : html`<p class="row-name">
                <b>${one.name}</b> ${one.current ? html`<span class="badge filed">${say("devices.this")}</span>` : nothing}
                ${badge(level, say(name))}
                <span class="meta"
                  >${say(KINDS[one.kind] ?? "devices.kind_program")} · ${say("devices.sessions", { n: one.sessions })}</span
                >
                <span class="meta"
                  ><span title=${inFull(signedIn)}>${say("devices.signed_in", { when: ago(signedIn) })}</span>
                  ${one.current ? nothing : html`· <span title=${inFull(seen)}>${say("devices.seen", { when: ago(seen) })}</span>`}</span
                >
                ${
                  one.visiting
                    ? html`<span class="meta">${say("devices.visiting", { until: inFull(Date.parse(one.visiting.until)) })}</span>`
                    : nothing
                }
              </p>
              ${this.asked === `revoke ${one.id}` ? this.#revoking(one) : this.#acts(one)}`
      }
    </li>`;
  }

  #acts(one: Device) {
    const ask = (what: string) => (): void => void (this.asked = `${what} ${one.id}`);
    return html`<div class="acts">
      <button type="button" class="plain" aria-label=${say("devices.rename_what", { name: one.name })} @click=${ask("rename")}>
        ${say("devices.rename")}
      </button>
      ${
        one.visiting
          ? html`<button
              type="button"
              class="plain"
              aria-label=${say("devices.keep_what", { name: one.name })}
              @click=${() => this.#keep(one)}
            >
              ${say("devices.keep")}
            </button>`
          : nothing
      }
      ${
        one.current
          ? nothing
          : html`<button
              type="button"
              class="plain"
              aria-label=${say("devices.revoke_what", { name: one.name })}
              @click=${ask("revoke")}
            >
              ${say("devices.revoke")}
            </button>`
      }
    </div>`;
  }

  #keep(one: Device): void {
    void this.#change(() => new Handoffs(this.api).keep(one.id), say("handoff.kept", { name: one.name }));
  }

  #renaming(one: Device) {
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
      if (name) void this.#change(() => this.api.renameDevice(one.id, name), "");
    };
    return html`<form class="asking" @submit=${submit}>
      <label class="unseen" for="device-name">${say("devices.name")}</label>
      <input id="device-name" name="name" maxlength="100" autocomplete="off" .value=${one.name} />
      <div class="acts"><button class="primary">${say("save")}</button>${this.#cancel()}</div>
    </form>`;
  }

  #revoking(one: Device) {
    const revoke = (): void =>
      void this.#change(() => this.api.revokeDevice(one.id), say("devices.revoked", { name: one.name }));
    return html`<div class="asking" role="group" aria-label=${say("devices.revoke_what", { name: one.name })}>
      <p>${say("devices.revoke_sure", { name: one.name })}</p>
      <div class="acts">
        <button type="button" class="primary" @click=${revoke}>${say("devices.revoke")}</button>${this.#cancel()}
      </div>
    </div>`;
  }

  #cancel() {
    return html`<button type="button" @click=${() => (this.asked = "")}>${say("cancel")}</button>`;
  }

  #another() {
    const { link } = this;
    const make = (key: "devices.make" | "devices.make_another") =>
      html`<button type="button" class=${link ? "" : "primary"} ?disabled=${this.isBusy} @click=${this.#make}>${say(key)}</button>`;
    if (!link) return make("devices.make");
    if (link === "expired") return html`<p>${say("devices.expired")}</p>${make("devices.make_another")}`;
    return html`<div class="link-made">
      ${qrCode(link.qr, say("devices.code"))}
      <div>
        <p class="warning">${say("devices.warning", { n: minutesLeft(link) })}</p>
        <p class="address" role="group" aria-label=${say("devices.address")}>${link.url}</p>
        <div class="acts">
          <button type="button" @click=${this.#copy}>${say("devices.copy")}</button>${make("devices.make_another")}
        </div>
      </div>
    </div>`;
  }

  readonly #make = (): void =>
    void this.attempt(async () => {
      this.link = await this.api.newLink();
      if (!this.isConnected) this.link = null;
      return "";
    });

  readonly #copy = (): void =>
    void this.attempt(async () => {
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

  async #change(change: () => Promise<void>, said: string): Promise<void> {
    await this.attempt(async () => {
      await change();
      this.asked = "";
      await this.#load();
      return said;
    });
    this.querySelector<HTMLElement>(".dialog-head button")?.focus();
  }

  async #load(): Promise<void> {
    this.devices = (await this.api.devices()).sort((a, b) => Number(b.current) - Number(a.current));
  }

  #age(): void {
    if (!this.link || this.link === "expired") return;
    if (Date.parse(this.link.expires_at) <= Date.now()) this.link = "expired";
    this.requestUpdate();
    // whoever has just come in by it is to be seen
    if (!this.asked) void this.#load().catch(() => undefined);
  }
}

function badge(level: Device["level"], name: string) {
  return html`<span class="badge level-${level}">${name}</span>`;
}

function minutesLeft({ expires_at }: Link): number {
  return Math.max(1, Math.round((Date.parse(expires_at) - Date.now()) / 60_000));
}

customElements.define("clew-devices-dialog", DevicesDialog);
