/** The frame: signs in by a link's key, then shows the list or a task. Owns the address; must never leave a key in it. */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { Api, Problem, type Me } from "../sync/api";
import { onSignedOut, tellSignedOut } from "../sync/notices";
import { Outbox } from "../sync/outbox";
import { Session } from "../sync/session";
import { Shelf } from "../sync/shelf";
import { unsentIn } from "../sync/unsent_words";
import { adoptLanguage, currentLanguage, onLanguage, say, showLanguage, type Plain } from "../words/language";
import { isRevoked, NOW_AND_THEN, PageElement, whileSeen, whyOf } from "./element";
import "./handoff_notices";
import { SHOW_ACCOUNT, SHOW_DEVICES, SIGN_OUT } from "./menu";
import { takeBack } from "./sign_in";
import "./task_list";
import { noteWhereTo, takeWhereTo } from "./where_to";

const TASK = /^\/t\/([0-9a-f-]{36})\/?$/;
/** Pages that are fetched when somebody is first there. */
const INVITED = /^\/i\/?$/;
const SHARED = /^\/s\/?$/;
const DEVICE = /^\/device\/?$/;
const HANDOFF = /^\/h\/?$/;
/** How a way through an organisation went, as the server says it in the fragment. */
const WENT: Record<string, Plain> = {
  closed: "sign_in.closed",
  taken: "sign_in.taken",
  key: "sign_in.other_key",
  away: "problem.unavailable",
  failed: "sign_in.failed",
};

/** Milliseconds. */
const SOON = 3_000;

type State =
  | { kind: "starting" }
  | { kind: "in"; shelf: Shelf; outbox: Outbox }
  | { kind: "out"; why: string; anew?: boolean }
  | { kind: "revoked"; words: string; why?: string }
  | { kind: "failed"; why: string };

export class Page extends PageElement {
  static override properties = {
    state: { state: true },
    path: { state: true },
    isFirst: { state: true },
    notice: { state: true },
    isAtDevices: { state: true },
    isAtAccount: { state: true },
    stuck: { state: true },
  };

  declare state: State;
  declare path: string;
  /** Whether this is where the page was opened. */
  declare isFirst: boolean;
  declare notice: string;
  declare isAtDevices: boolean;
  declare isAtAccount: boolean;
  /** The tasks whose words wait until they are opened. */
  declare stuck: ReadonlySet<string>;
  readonly #api = new Api();
  readonly #session = new Session(this.#api);
  /** Whether this browser's key is another person's than who wants to come in. */
  #anew = false;
  #unhear: (() => void) | null = null;
  #unwatch: (() => void) | null = null;

  constructor() {
    super();
    this.state = { kind: "starting" };
    this.path = location.pathname;
    this.isFirst = true;
    this.notice = "";
    this.isAtDevices = false;
    this.isAtAccount = false;
    this.stuck = new Set();
    this.#speak();
    onLanguage(() => this.#speak());
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("popstate", this.#moved);
    addEventListener("hashchange", this.#keyed);
    this.addEventListener("go", (event) => this.#go((event as CustomEvent<string>).detail));
    this.addEventListener("signed-out", (event) => this.#out((event as CustomEvent<string>).detail));
    this.addEventListener("revoked", (event) => void this.#revoked((event as CustomEvent<string | null>).detail));
    addEventListener("online", this.#send);
    this.#unwatch = whileSeen(() => {
      void this.#whoAmI();
      this.#send();
    }, NOW_AND_THEN);
    this.#unhear = onSignedOut(() => void this.#lookAgain());
    this.addEventListener(SIGN_OUT, (event) => void this.#signOut((event as CustomEvent<string | null>).detail));
    this.addEventListener("joined", (event) => this.#joined((event as CustomEvent<string>).detail));
    this.addEventListener("signed-in", () => this.#signedIn());
    this.addEventListener(SHOW_DEVICES, () => void this.#show(() => import("./devices_dialog"), "isAtDevices"));
    this.addEventListener(SHOW_ACCOUNT, () => void this.#show(() => import("./account_dialog"), "isAtAccount"));
    void this.#start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("popstate", this.#moved);
    removeEventListener("hashchange", this.#keyed);
    removeEventListener("online", this.#send);
    this.#unhear?.();
    this.#unwatch?.();
  }

  override render() {
    const { state } = this;
    if (HANDOFF.test(this.path)) {
      if (!this.#has("clew-handoff-page", () => import("./handoff_page"))) return this.#loading();
      return html`<clew-handoff-page .api=${this.#api}></clew-handoff-page>`;
    }
    if (state.kind === "starting") return this.#loading();
    if (state.kind === "failed") {
      return html`<main class="list">
        <p class="failure" role="alert">${state.why}</p>
        <button type="button" @click=${() => this.#start()}>${say("again")}</button>
      </main>`;
    }
    if (INVITED.test(this.path)) {
      if (!this.#has("clew-invited-page", () => import("./invited_page"))) return this.#loading();
      const me = state.kind === "in" ? state.shelf.me : null;
      return html`<clew-invited-page .api=${this.#api} .me=${me}></clew-invited-page>`;
    }
    if (state.kind === "revoked") {
      const on = (): void => void (this.state = { kind: "out", why: "" });
      return html`<clew-revoked-page .words=${state.words} .why=${state.why} @on=${on}></clew-revoked-page>`;
    }
    if (SHARED.test(this.path)) {
      if (!this.#has("clew-access-page", () => import("./access_page"))) return this.#loading();
      const me = state.kind === "in" ? state.shelf.me : null;
      return html`<clew-access-page .api=${this.#api} .me=${me}></clew-access-page>`;
    }
    if (state.kind === "out") return html`<clew-sign-in .api=${this.#api} why=${state.why} ?anew=${state.anew}></clew-sign-in>`;
    const { shelf } = state;
    if (DEVICE.test(this.path)) {
      if (!this.#has("clew-device-page", () => import("./device_page"))) return this.#loading();
      return html`<clew-device-page .api=${this.#api}></clew-device-page>`;
    }
    const task = TASK.exec(this.path)?.[1];
    if (task && !this.#has("clew-task-page", () => import("./task_page"))) return this.#loading();
    const [api, session, me] = [this.#api, this.#session, shelf.me] as [Api, Session, Me];
    const page = task
      ? keyed(
          `${me.id} ${task}`,
          html`<clew-task-page .api=${api} .session=${session} .shelf=${shelf} .me=${me} .task=${task}></clew-task-page>`,
        )
      : html`<clew-task-list
          .api=${api}
          .session=${session}
          .shelf=${shelf}
          .me=${me}
          ?isFirst=${this.isFirst}
          .stuck=${this.stuck}
        ></clew-task-list>`;
    return html`<clew-handoff-notices .api=${api} .me=${me}></clew-handoff-notices>
    ${this.notice ? html`<p class="failure page-notice" role="alert">${this.notice}</p>` : nothing}${page}
    ${
      this.isAtDevices
        ? html`<clew-devices-dialog .api=${api} @closed=${() => (this.isAtDevices = false)}></clew-devices-dialog>`
        : nothing
    }
    ${
      this.isAtAccount
        ? html`<clew-account-dialog .api=${api} @closed=${() => (this.isAtAccount = false)}></clew-account-dialog>`
        : nothing
    }
`;
  }

  #loading() {
    return html`<main class="list"><p class="quiet" role="status">${say("loading")}</p></main>`;
  }

  /** Whether a part of the page is here; it is fetched where it is not. */
  #has(tag: string, load: () => Promise<unknown>): boolean {
    if (customElements.get(tag)) return true;
    void load().then(
      () => {
        this.requestUpdate();
        if (!this.isFirst) this.#focus();
      },
      (error: unknown) => this.#fail(error),
    );
    return false;
  }

  /** A share link has led to a task, perhaps as somebody whom this page did not know yet. */
  #joined(path: string): void {
    this.state = { kind: "starting" };
    history.replaceState(null, "", path);
    this.path = path;
    void this.#start(true);
  }

  #signedIn(): void {
    this.state = { kind: "starting" };
    if (INVITED.test(this.path)) {
      history.replaceState(null, "", "/");
      this.path = "/";
    }
    void this.#start(true);
  }

  /** `isNew`: somebody has just come in, perhaps another than was here last. */
  async #start(isNew = false): Promise<void> {
    const key = this.#takeKey();
    const went = this.#takeWord();
    let why = went && went !== "added" ? say(WENT[went] ?? "sign_in.failed") : "";
    this.#anew = went === "key";
    const back = takeBack();
    if (back && this.path === "/") {
      history.replaceState(null, "", back);
      this.path = back;
    }
    try {
      if (key) await this.#api.signIn(key);
      const next = key && this.path === "/" ? takeWhereTo() : null;
      if (next) {
        history.replaceState(null, "", next);
        this.path = next;
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.status === 0) return this.#fail(error);
      // the link may be spent because this very browser has used it: then it is signed in all the same
      why = say("sign_in.used");
    }
    const last = isNew || key ? null : Shelf.lastPerson();
    const asked = this.#api.me();
    try {
      // a server that does not answer is not waited for where this device knows who was here
      const me = await (last
        ? Promise.race([asked, new Promise<Me>((resolve) => setTimeout(() => resolve(last), SOON))])
        : asked);
      this.#enter(me);
    } catch (error) {
      if (error instanceof Problem && error.code === "unavailable" && last) this.#enter(last);
      else this.#refuse(error, why);
    }
    asked.then(
      (me) => this.#enter(me),
      (error: unknown) => error instanceof Problem && error.code === "unauthenticated" && this.#refuse(error, why),
    );
  }

  #enter(me: Me): void {
    adoptLanguage(me.language ?? null);
    const known = this.state.kind === "in" ? this.state.shelf.me : null;
    if (known?.id !== me.id || known.visiting?.until !== me.visiting?.until) {
      const shelf = new Shelf(me);
      this.state = { kind: "in", shelf, outbox: new Outbox(this.#api, shelf) };
    }
    this.#send();
  }

  /** Whether a device that was let in to one task has been kept, or has it for longer. */
  async #whoAmI(): Promise<void> {
    if (this.state.kind !== "in" || !this.state.shelf.me.visiting) return;
    const me = await this.#api.me().catch(() => null);
    if (me && this.state.kind === "in") this.#enter(me);
  }

  #refuse(error: unknown, why: string): void {
    if (isRevoked(error)) void this.#revoked(null);
    else if (error instanceof Problem && error.code === "unauthenticated") this.#out(why);
    else this.#fail(error);
  }

  #out(why: string): void {
    if (this.state.kind === "revoked") return;
    if (TASK.test(this.path)) noteWhereTo(this.path);
    this.state = { kind: "out", why, anew: this.#anew };
  }

  /** Signed out from another device: nothing of the person's stays here, and no other tab goes on. `words`: of the open task. */
  async #revoked(words: string | null): Promise<void> {
    if (this.state.kind === "revoked") return;
    const last = Shelf.lastPerson();
    const shelf = this.state.kind === "in" ? this.state.shelf : last && new Shelf(last);
    const open = words === null ? undefined : TASK.exec(this.path)?.[1];
    this.state = { kind: "revoked", words: words ?? "" };
    await import("./handoff_revoked");
    const more = shelf ? await unsentIn(shelf, open) : "";
    this.state = { kind: "revoked", words: [words, more].filter(Boolean).join("\n\n") };
    history.replaceState(null, "", "/");
    this.path = "/";
    sessionStorage.clear();
    tellSignedOut();
    await shelf?.clear();
  }

  /** Another tab says that nobody is signed in here any more. A tab with a task open hears it by its own socket. */
  async #lookAgain(): Promise<void> {
    if (this.state.kind !== "in" || TASK.test(this.path)) return;
    try {
      await this.#api.me();
    } catch (error) {
      if (isRevoked(error)) await this.#revoked(null);
    }
  }

  /**
   * The server first: while it is away, nobody is signed out, and nothing is forgotten. What it did not take is shown before
   * it goes; not to who was erased, and says so by `why`.
   */
  async #signOut(why: string | null): Promise<void> {
    if (this.state.kind !== "in") return;
    const { shelf, outbox } = this.state;
    let words = "";
    try {
      if (!why) await outbox.send(TASK.exec(this.path)?.[1]);
      if (!why) words = await unsentIn(shelf);
      if (words) await import("./handoff_revoked");
      await this.#api.signOut();
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "unauthenticated") return void (this.notice = whyOf(error));
    }
    const said = why ?? say("sign_in.signed_out");
    this.state = words ? { kind: "revoked", words, why: said } : { kind: "out", why: said };
    history.replaceState(null, "", "/");
    this.path = "/";
    sessionStorage.clear();
    await shelf.clear();
  }

  async #show(load: () => Promise<unknown>, at: "isAtDevices" | "isAtAccount"): Promise<void> {
    this.notice = "";
    try {
      await load();
      this[at] = true;
    } catch (error) {
      this.notice = whyOf(error);
    }
  }

  #speak(): void {
    this.#api.language = currentLanguage();
    showLanguage();
  }

  /** The one-time key, out of the address before anything else can read, show or keep it. */
  #takeKey(): string | null {
    const found = /^#k=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1] ?? null;
    if (found) history.replaceState(null, "", location.pathname);
    return found;
  }

  /** How it went at the organisation, likewise. */
  #takeWord(): string | null {
    const found = /^#in=([a-z]+)$/.exec(location.hash)?.[1] ?? null;
    if (found) history.replaceState(null, "", location.pathname);
    return found;
  }

  #fail(error: unknown): void {
    this.state = { kind: "failed", why: whyOf(error) };
  }

  /** What waits in tasks that are not open here. */
  readonly #send = (): void => {
    const { state } = this;
    if (state.kind !== "in") return;
    void state.outbox.send(TASK.exec(this.path)?.[1]).then(() => (this.stuck = state.outbox.stuck));
  };

  readonly #keyed = (): void => {
    if (location.hash.startsWith("#k=")) void this.#start();
  };

  readonly #moved = (): void => {
    this.isFirst = false;
    this.notice = "";
    this.path = location.pathname;
    this.#focus();
    this.#send();
  };

  #go(path: string): void {
    history.pushState(null, "", path);
    if (!TASK.test(path)) void this.#session.attach(null).catch(() => undefined);
    this.#moved();
  }

  /** A new page begins at its top, also for who cannot see it. */
  #focus(): void {
    scrollTo(0, 0);
    void this.updateComplete.then(() => this.querySelector<HTMLElement>("a, h1, input")?.focus({ preventScroll: true }));
  }
}

customElements.define("clew-page", Page);
