/** The frame: signs in by a link's key, then shows the list or a task. Owns the address; must never leave a key in it. */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { Api, Problem, type Person } from "../sync/api";
import { Session } from "../sync/session";
import { PageElement } from "./element";
import "./task_list";
import "./task_page";

const TASK = /^\/t\/([0-9a-f-]{36})\/?$/;

type State =
  | { kind: "starting" }
  | { kind: "in"; me: Person }
  | { kind: "out"; why: string }
  | { kind: "failed"; why: string };

export class Page extends PageElement {
  static override properties = { state: { state: true }, path: { state: true } };

  declare state: State;
  declare path: string;
  readonly #api = new Api();
  readonly #session = new Session(this.#api);

  constructor() {
    super();
    this.state = { kind: "starting" };
    this.path = location.pathname;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("popstate", this.#moved);
    addEventListener("hashchange", this.#keyed);
    this.addEventListener("go", (event) => this.#go((event as CustomEvent<string>).detail));
    this.addEventListener("signed-out", (event) => (this.state = { kind: "out", why: (event as CustomEvent<string>).detail }));
    void this.#start();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("popstate", this.#moved);
    removeEventListener("hashchange", this.#keyed);
  }

  override render() {
    const { state } = this;
    if (state.kind === "starting") return html`<main class="list"><p class="quiet" role="status">Opening…</p></main>`;
    if (state.kind === "failed") {
      return html`<main class="list">
        <p class="failure" role="alert">${state.why}</p>
        <button type="button" @click=${() => this.#start()}>Try again</button>
      </main>`;
    }
    if (state.kind === "out") return this.#signIn(state.why);
    const task = TASK.exec(this.path)?.[1];
    return task
      ? keyed(task, html`<clew-task-page .api=${this.#api} .session=${this.#session} .me=${state.me} .task=${task}></clew-task-page>`)
      : html`<clew-task-list .api=${this.#api}></clew-task-list>`;
  }

  #signIn(why: string) {
    return html`<main class="list sign-in">
      <h1>Clew</h1>
      <p>This browser is not signed in. Ask for a new link where the server runs, and open it here:</p>
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
      why = "That link was used before, or is too old.";
    }
    try {
      this.state = { kind: "in", me: await this.#api.me() };
    } catch (error) {
      if (error instanceof Problem && error.code === "unauthenticated") this.state = { kind: "out", why };
      else this.#fail(error);
    }
  }

  /** The one-time key, out of the address before anything else can read, show or keep it. */
  #takeKey(): string | null {
    const found = /^#k=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1] ?? null;
    if (found) history.replaceState(null, "", location.pathname);
    return found;
  }

  #fail(error: unknown): void {
    this.state = { kind: "failed", why: error instanceof Error ? error.message : String(error) };
  }

  readonly #keyed = (): void => {
    if (location.hash.startsWith("#k=")) void this.#start();
  };

  readonly #moved = (): void => {
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
