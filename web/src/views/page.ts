/** The frame: signs in by a link's key, then shows the list or a task. Owns the address; must never leave a key in it. */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { Api, Problem, type Me } from "../sync/api";
import { Session } from "../sync/session";
import { Shelf } from "../sync/shelf";
import { currentLanguage, onLanguage, say, showLanguage } from "../words/language";
import { PageElement, whyOf } from "./element";
import { SHOW_DEVICES, SIGN_OUT } from "./menu";
import "./task_list";

const TASK = /^\/t\/([0-9a-f-]{36})\/?$/;

/** Milliseconds. */
const SOON = 3_000;

type State = { kind: "starting" } | { kind: "in"; shelf: Shelf } | { kind: "out"; why: string } | { kind: "failed"; why: string };

export class Page extends PageElement {
  static override properties = {
    state: { state: true },
    path: { state: true },
    isFirst: { state: true },
    notice: { state: true },
    isAtDevices: { state: true },
  };

  declare state: State;
  declare path: string;
  /** Whether this is where the page was opened. */
  declare isFirst: boolean;
  declare notice: string;
  declare isAtDevices: boolean;
  readonly #api = new Api();
  readonly #session = new Session(this.#api);

  constructor() {
    super();
    this.state = { kind: "starting" };
    this.path = location.pathname;
    this.isFirst = true;
    this.notice = "";
    this.isAtDevices = false;
    this.#speak();
    onLanguage(() => this.#speak());
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("popstate", this.#moved);
    addEventListener("hashchange", this.#keyed);
    this.addEventListener("go", (event) => this.#go((event as CustomEvent<string>).detail));
    this.addEventListener("signed-out", (event) => (this.state = { kind: "out", why: (event as CustomEvent<string>).detail }));
    this.addEventListener(SIGN_OUT, () => void this.#signOut());
    this.addEventListener(SHOW_DEVICES, () => void this.#showDevices());
    void this.#start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("popstate", this.#moved);
    removeEventListener("hashchange", this.#keyed);
  }

  override render() {
    const { state } = this;
    if (state.kind === "starting") return html`<main class="list"><p class="quiet" role="status">${say("loading")}</p></main>`;
    if (state.kind === "failed") {
      return html`<main class="list">
        <p class="failure" role="alert">${state.why}</p>
        <button type="button" @click=${() => this.#start()}>${say("again")}</button>
      </main>`;
    }
    if (state.kind === "out") return this.#signIn(state.why);
    const { shelf } = state;
    const task = TASK.exec(this.path)?.[1];
    if (task && !customElements.get("clew-task-page")) {
      void import("./task_page").then(
        () => this.requestUpdate(),
        (error: unknown) => this.#fail(error),
      );
      return html`<main class="list"><p class="quiet" role="status">${say("loading")}</p></main>`;
    }
    const [api, session, me] = [this.#api, this.#session, shelf.me] as [Api, Session, Me];
    const page = task
      ? keyed(
          task,
          html`<clew-task-page .api=${api} .session=${session} .shelf=${shelf} .me=${me} .task=${task}></clew-task-page>`,
        )
      : html`<clew-task-list
          .api=${api}
          .session=${session}
          .shelf=${shelf}
          .me=${me}
          ?isFirst=${this.isFirst}
        ></clew-task-list>`;
    return html`${this.notice ? html`<p class="failure page-notice" role="alert">${this.notice}</p>` : nothing}${page}
    ${
      this.isAtDevices
        ? html`<clew-devices-dialog .api=${api} @closed=${() => (this.isAtDevices = false)}></clew-devices-dialog>`
        : nothing
    }`;
  }

  #signIn(why: string) {
    return html`<main class="list sign-in">
      <h1>Clew</h1>
      <p>${say("sign_in.how")}</p>
      <pre><code>clew link</code></pre>
      ${why ? html`<p class="quiet" role="status">${why}</p>` : nothing}
    </main>`;
  }

  async #start(): Promise<void> {
    const key = this.#takeKey();
    let why = "";
    try {
      if (key) await this.#api.signIn(key);
    } catch (error) {
      if (!(error instanceof Problem) || error.status === 0) return this.#fail(error);
      // the link may be spent because this very browser has used it: then it is signed in all the same
      why = say("sign_in.used");
    }
    const last = Shelf.lastPerson();
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
    if (this.state.kind !== "in" || this.state.shelf.me.id !== me.id) this.state = { kind: "in", shelf: new Shelf(me) };
  }

  #refuse(error: unknown, why: string): void {
    if (error instanceof Problem && error.code === "unauthenticated") this.state = { kind: "out", why };
    else this.#fail(error);
  }

  /** The server first: while it is away, nobody is signed out, and nothing is forgotten. */
  async #signOut(): Promise<void> {
    if (this.state.kind !== "in") return;
    const { shelf } = this.state;
    try {
      await this.#api.signOut();
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "unauthenticated") return void (this.notice = whyOf(error));
    }
    this.state = { kind: "out", why: say("sign_in.signed_out") };
    history.replaceState(null, "", "/");
    this.path = "/";
    sessionStorage.clear();
    await shelf.clear();
  }

  async #showDevices(): Promise<void> {
    this.notice = "";
    try {
      await import("./devices_dialog");
      this.isAtDevices = true;
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

  #fail(error: unknown): void {
    this.state = { kind: "failed", why: whyOf(error) };
  }

  readonly #keyed = (): void => {
    if (location.hash.startsWith("#k=")) void this.#start();
  };

  readonly #moved = (): void => {
    this.isFirst = false;
    this.notice = "";
    this.path = location.pathname;
    this.#focus();
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
