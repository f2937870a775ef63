/** One's passkeys: add, rename, remove. Owns the list; the browser has the keys, and the server their public halves. */

import { html, nothing } from "lit";

import type { Api } from "../sync/api";
import { Accounts, type Passkey } from "../sync/account";
import { Abandoned, addPasskey, addressForPasskeys, canUsePasskeys, removePasskey } from "../sync/passkeys";
import { ago, inFull, say } from "../words/language";
import { PageElement, whyOf } from "./element";

export class Passkeys extends PageElement {
  static override properties = {
    api: { attribute: false },
    passkeys: { state: true },
    asked: { state: true },
    said: { state: true },
    failure: { state: true },
    isBusy: { state: true },
  };

  declare api: Api;
  declare passkeys: Passkey[] | null;
  /** What is being asked: `remove ID` or `rename ID`. */
  declare asked: string;
  declare said: string;
  declare failure: string;
  declare isBusy: boolean;

  constructor() {
    super();
    this.passkeys = null;
    this.asked = "";
    this.said = "";
    this.failure = "";
    this.isBusy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.#attempt(async () => (await this.#load(), ""));
  }

  override render() {
    return html`<section class="another" aria-labelledby="passkeys-title">
      <h3 id="passkeys-title">${say("passkeys.title")}</h3>
      <p class="quiet">${say("passkeys.what")}</p>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <p class="quiet" role="status">${this.said}</p>
      ${
        this.passkeys?.length
          ? html`<ul class="rows">
              ${this.passkeys.map((one) => this.#row(one))}
            </ul>`
          : nothing
      }
      ${this.#adding()}
    </section>`;
  }

  #adding() {
    if (canUsePasskeys()) {
      return html`<button type="button" ?disabled=${this.isBusy} @click=${this.#add}>${say("passkeys.add")}</button>`;
    }
    const elsewhere = addressForPasskeys();
    return elsewhere
      ? html`<p class="quiet">${say("sign_in.elsewhere")} <a href=${elsewhere}>${elsewhere}</a></p>`
      : html`<p class="quiet">${say("passkeys.not_here")}</p>`;
  }

  #row(one: Passkey) {
    const [made, used] = [Date.parse(one.created_at), one.used_at ? Date.parse(one.used_at) : null];
    const ask = (what: string) => (): void => void (this.asked = `${what} ${one.id}`);
    if (this.asked === `rename ${one.id}`) return html`<li>${this.#renaming(one)}</li>`;
    return html`<li data-passkey=${one.id}>
      <p class="row-name">
        <b>${one.name}</b>
        <span class="meta" title=${inFull(made)}>
          ${say("passkeys.made", { when: ago(made) })}${one.synced ? ` · ${say("passkeys.synced")}` : ""}
        </span>
        ${used === null ? nothing : html`<span class="meta" title=${inFull(used)}>${say("passkeys.used", { when: ago(used) })}</span>`}
      </p>
      ${
        this.asked === `remove ${one.id}`
          ? this.#removing(one)
          : html`<div class="acts">
              <button type="button" class="plain" aria-label=${say("devices.rename_what", { name: one.name })} @click=${ask("rename")}>
                ${say("devices.rename")}
              </button>
              <button type="button" class="plain" aria-label=${say("members.remove_what", { name: one.name })} @click=${ask("remove")}>
                ${say("members.remove")}
              </button>
            </div>`
      }
    </li>`;
  }

  #renaming(one: Passkey) {
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
      if (name) void this.#change(() => new Accounts(this.api).renamePasskey(one.id, name), "");
    };
    return html`<form class="asking" @submit=${submit}>
      <label class="unseen" for="passkey-name">${say("passkeys.name")}</label>
      <input id="passkey-name" name="name" maxlength="100" autocomplete="off" .value=${one.name} />
      <div class="acts"><button class="primary">${say("save")}</button>${this.#cancel()}</div>
    </form>`;
  }

  #removing(one: Passkey) {
    const remove = (): void =>
      void this.#change(() => removePasskey(new Accounts(this.api), one.id), say("passkeys.removed", { name: one.name }));
    return html`<div class="asking" role="group" aria-label=${say("members.remove_what", { name: one.name })}>
      <p>${say("passkeys.remove_sure", { name: one.name })}</p>
      <div class="acts">
        <button type="button" class="primary" @click=${remove}>${say("members.remove")}</button>${this.#cancel()}
      </div>
    </div>`;
  }

  #cancel() {
    return html`<button type="button" @click=${() => (this.asked = "")}>${say("cancel")}</button>`;
  }

  readonly #add = (): void => void this.#change(() => addPasskey(new Accounts(this.api)), say("passkeys.added"));

  async #change(change: () => Promise<void>, said: string): Promise<void> {
    await this.#attempt(async () => {
      await change();
      this.asked = "";
      await this.#load();
      return said;
    });
  }

  async #attempt(act: () => Promise<string>): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    this.said = "";
    try {
      this.said = await act();
    } catch (error) {
      if (!(error instanceof Abandoned)) this.failure = whyPasskey(error);
    } finally {
      this.isBusy = false;
    }
  }

  async #load(): Promise<void> {
    this.passkeys = await new Accounts(this.api).passkeys();
  }
}

export function whyPasskey(error: unknown): string {
  if (error instanceof DOMException && error.name === "InvalidStateError") return say("passkeys.here_already");
  return (error as { code?: string }).code === "unauthenticated" ? say("sign_in.not_accepted") : whyOf(error);
}

customElements.define("clew-passkeys", Passkeys);
