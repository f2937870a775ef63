/** Who is on a task and as what. Owns how that is shown and changed; what is allowed the server decides. */

import { html, nothing } from "lit";

import { Problem, type Api, type Me, type Member } from "../sync/api";
import { Access } from "../sync/access";
import { inFull, say, type Plain } from "../words/language";
import "./access_deletion";
import "./access_policy";
import "./access_shares";
import { PageDialog } from "./dialog";
import { NOW_AND_THEN, whileSeen, whyOf } from "./element";

const ROLES: Record<Member["role"], Plain> = {
  viewer: "role.viewer",
  commenter: "role.commenter",
  editor: "role.editor",
  owner: "role.owner",
};

export class MembersDialog extends PageDialog {
  static override properties = {
    ...PageDialog.properties,
    api: { attribute: false },
    me: { attribute: false },
    task: {},
    members: { state: true },
    asked: { state: true },
    unknown: { state: true },
  };

  declare api: Api;
  declare me: Me;
  declare task: string;
  declare members: Member[] | null;
  /** What is being asked: `remove USER` or `end USER`. */
  declare asked: string;
  /** Why nobody was added, said beside the field. */
  declare unknown: string;
  #unwatch: (() => void) | null = null;
  #told: Member["role"] | undefined;

  constructor() {
    super();
    this.members = null;
    this.asked = "";
    this.unknown = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this.attempt(async () => (await this.#load(), ""));
    this.#unwatch = whileSeen(() => this.isBusy || void this.#load().catch(() => undefined), NOW_AND_THEN);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unwatch?.();
  }

  protected heading(): string {
    return say("members.title");
  }

  protected content() {
    if (!this.members) return this.failure ? html`` : html`<p class="quiet">${say("loading")}</p>`;
    const isOwner = this.#own?.role === "owner";
    return html`${isOwner ? nothing : html`<p class="quiet">${say("members.only_owners")}</p>`}
      <ul class="rows">
        ${this.members.map((one) => this.#member(one, isOwner))}
      </ul>
      ${
        isOwner
          ? html`${this.#adding()}
              <clew-access-shares .api=${this.api} .task=${this.task} @members-changed=${this.#look}></clew-access-shares>
              <clew-access-policy .api=${this.api} .task=${this.task}></clew-access-policy>
              ${this.me.visiting ? nothing : html`<clew-access-deletion .api=${this.api} .task=${this.task} @deleted=${this.#gone}></clew-access-deletion>`}`
          : nothing
      }`;
  }

  get #own(): Member | undefined {
    return this.members?.find((one) => one.user === this.me.id);
  }

  #member(one: Member, isOwner: boolean) {
    const isSelf = one.user === this.me.id;
    const name = isSelf ? say("people.self", { name: one.name }) : one.name;
    const ask = (): void => void (this.asked = `remove ${one.user}`);
    const isAsked = this.asked.endsWith(` ${one.user}`);
    return html`<li data-member=${one.user}>
      <p class="row-name">
        <b>${name}</b> ${one.guest ? html`<span class="badge">${say("members.guest")}</span>` : nothing}
        ${isOwner ? nothing : html`<span class="meta">${say(ROLES[one.role])}</span>`}
        ${one.until ? html`<span class="meta">${say(one.over ? "members.ended" : "members.ends", { when: inFull(Date.parse(one.until)) })}</span>` : nothing}
        ${one.link && !one.guest ? html`<span class="meta">${say("members.by_link")}</span>` : nothing}
      </p>
      ${this.asked === `remove ${one.user}` ? this.#removing(one, isSelf) : nothing}
      ${this.asked === `end ${one.user}` ? this.#ending(one) : nothing}
      <div class="acts" ?hidden=${isAsked}>
        ${isOwner ? this.#roleField(one) : nothing}
        ${
          isOwner && one.role !== "owner"
            ? html`<button
                type="button"
                class="plain"
                aria-label=${say("members.end_what", { name: one.name })}
                @click=${() => (this.asked = `end ${one.user}`)}
              >
                ${say("members.end")}
              </button>`
            : nothing
        }
        ${
          (isSelf && !this.me.visiting) || isOwner
            ? html`<button
                type="button"
                class="plain"
                aria-label=${isSelf ? nothing : say("members.remove_what", { name: one.name })}
                @click=${ask}
              >
                ${say(isSelf ? "members.leave" : "members.remove")}
              </button>`
            : nothing
        }
      </div>
    </li>`;
  }

  #roleField(one: Member) {
    const change = (event: Event): void => {
      const field = event.target as HTMLSelectElement;
      void this.#change(() => this.api.setRole(this.task, one.user, field.value as Member["role"]), say("members.changed")).then(
        () => (field.value = this.members?.find(({ user }) => user === one.user)?.role ?? one.role),
      );
    };
    return html`<select aria-label=${say("members.role_of", { name: one.name })} @change=${change}>
      ${rolesOf(one.role)}
    </select>`;
  }

  #removing(one: Member, isSelf: boolean) {
    const remove = (): void => void (isSelf ? this.#leave() : this.#remove(one));
    return html`<div class="asking" role="group" aria-label=${say("members.remove_what", { name: one.name })}>
      <p>${isSelf ? say("members.leave_sure") : say("members.remove_sure", { name: one.name })}</p>
      <div class="acts">
        <button type="button" class="primary" @click=${remove}>${say(isSelf ? "members.leave" : "members.remove")}</button>
        <button type="button" @click=${() => (this.asked = "")}>${say("cancel")}</button>
      </div>
    </div>`;
  }

  #ending(one: Member) {
    const change = (until: Date | null): void =>
      void this.#change(async () => void (await new Access(this.api, this.task).setEnd(one.user, until)), say("members.changed"));
    const submit = (event: SubmitEvent): void => {
      event.preventDefault();
      const given = new Date(String(new FormData(event.target as HTMLFormElement).get("until") ?? ""));
      if (given.getTime() > Date.now()) change(given);
      else this.failure = say("members.end_past");
    };
    return html`<form class="asking" aria-label=${say("members.end_what", { name: one.name })} @submit=${submit}>
      <label for="member-until">${say("members.end_how", { name: one.name })}</label>
      <input id="member-until" name="until" type="datetime-local" required value=${localTime(one.until)} />
      <div class="acts">
        <button class="primary">${say("save")}</button>
        ${one.until ? html`<button type="button" @click=${() => change(null)}>${say("members.end_never")}</button>` : nothing}
        <button type="button" @click=${() => (this.asked = "")}>${say("cancel")}</button>
      </div>
    </form>`;
  }

  readonly #look = (): void => void this.attempt(async () => (await this.#load(), ""));

  #adding() {
    return html`<form class="another" @submit=${this.#add}>
      <h3>${say("members.add")}</h3>
      <label for="member-name">${say("members.name")}</label>
      <input id="member-name" name="name" maxlength="200" autocomplete="off" autocapitalize="none" required />
      <label for="member-role">${say("members.role")}</label>
      <select id="member-role" name="role">${rolesOf("editor")}</select>
      ${this.unknown ? html`<p class="failure" role="alert">${this.unknown}</p>` : nothing}
      <div class="acts"><button class="primary" ?disabled=${this.isBusy}>${say("members.put")}</button></div>
    </form>`;
  }

  readonly #add = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const data = new FormData(form);
    const [name, role] = [String(data.get("name")).trim(), data.get("role") as Member["role"]];
    this.unknown = "";
    if (!name) return;
    // the server would take it as a new role for whoever is on the task already
    if (this.members?.some((one) => one.name === name)) return void (this.unknown = say("members.already", { name }));
    const explain = (error: unknown): string => {
      if (!(error instanceof Problem) || error.code !== "not_found") return whyOf(error);
      this.unknown = say("members.nobody", { name });
      return "";
    };
    void this.#change(
      async () => {
        await this.api.addMember(this.task, name, role);
        form.reset();
      },
      say("members.added", { name }),
      explain,
    );
  };

  async #remove(one: Member): Promise<void> {
    await this.#change(() => this.api.removeMember(this.task, one.user), say("members.removed", { name: one.name }));
    this.querySelector<HTMLElement>(".dialog-head button")?.focus();
  }

  readonly #gone = (): void => void this.dispatchEvent(new CustomEvent("left"));

  async #leave(): Promise<void> {
    await this.attempt(async () => {
      this.asked = "";
      await this.api.removeMember(this.task, this.me.id);
      this.dispatchEvent(new CustomEvent("left"));
      return "";
    }, explained);
  }

  async #change(change: () => Promise<void>, said: string, explain = explained): Promise<void> {
    await this.attempt(async () => {
      this.asked = "";
      await change();
      await this.#load();
      return said;
    }, explain);
  }

  async #load(): Promise<void> {
    this.members = await this.api.members(this.task);
    const role = this.#own?.role;
    if (role && role !== this.#told) this.dispatchEvent(new CustomEvent("own-role", { detail: role }));
    this.#told = role;
  }
}

function rolesOf(chosen: Member["role"]) {
  return Object.entries(ROLES).map(([role, name]) => html`<option value=${role} ?selected=${role === chosen}>${say(name)}</option>`);
}

/** A time as its field wants it, on this device's clock; tomorrow, where there is none. */
function localTime(iso: string | null): string {
  const at = iso ? new Date(iso) : new Date(Date.now() + 86_400_000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function explained(error: unknown): string {
  return error instanceof Problem && error.code === "conflict" ? say("members.last_owner") : whyOf(error);
}

customElements.define("clew-members-dialog", MembersDialog);
