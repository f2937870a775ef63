/**
 * Where one comes in: what one was working on, all tasks, and a field for a new one. Without the server, what this device
 * has a copy of.
 */

import { html, nothing } from "lit";

import type { Api, Candidate, Me, Task } from "../sync/api";
import type { Where } from "../sync/where";
import { Problem } from "../sync/api";
import type { Session } from "../sync/session";
import type { Shelf } from "../sync/shelf";
import { ago, inFull, say } from "../words/language";
import { follow, go, isSignedOut, MINUTE, PageElement, signedOut, whyOf, whileSeen } from "./element";
import { appMenu } from "./menu";
import "./passkey_offer";
import "./return_card";
import { STATUSES } from "./task_menu";

export class TaskList extends PageElement {
  static override properties = {
    api: { attribute: false },
    session: { attribute: false },
    shelf: { attribute: false },
    me: { attribute: false },
    isFirst: { type: Boolean },
    stuck: { attribute: false },
    tasks: { state: true },
    withheld: { state: true },
    candidate: { state: true },
    isOffline: { state: true },
    failure: { state: true },
    busy: { state: true },
  };

  declare api: Api;
  declare session: Session;
  declare shelf: Shelf;
  declare me: Me;
  /** Whether the page was opened here, rather than come back to from a task. */
  declare isFirst: boolean;
  /** The tasks that have to be opened for what was written in them to go out. */
  declare stuck: ReadonlySet<string>;
  declare tasks: Task[] | null;
  declare candidate: Candidate | null;
  declare isOffline: boolean;
  declare failure: string;
  /** How many of the person's tasks do not open here. */
  declare withheld: number;
  declare busy: boolean;
  #hasBegun = false;
  #unwatch: (() => void) | null = null;
  #unage: (() => void) | null = null;

  constructor() {
    super();
    this.stuck = new Set();
    this.tasks = null;
    this.candidate = null;
    this.isOffline = false;
    this.failure = "";
    this.withheld = 0;
    this.busy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = "Clew";
    addEventListener("online", this.#load);
    this.#unwatch = whileSeen(() => !this.tasks || this.busy || this.isOffline || void this.#load());
    this.#unage = whileSeen(() => this.requestUpdate(), MINUTE);
    void this.#load();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("online", this.#load);
    this.#unwatch?.();
    this.#unage?.();
  }

  override render() {
    return html`<header class="list-head"><span class="brand">Clew</span>${appMenu(nothing, !!this.me.visiting)}</header>
      <main class="list">
        ${
          this.candidate
            ? html`<clew-return-card
                .api=${this.api}
                .me=${this.me}
                .candidate=${this.candidate}
                @another=${() => this.#focus(".tasks a")}
                @anew=${() => this.#focus("#new-task")}
                @bring=${({ detail }: CustomEvent<Where>) => this.shelf.bring(this.candidate!.task.id, detail)}
              ></clew-return-card>`
            : nothing
        }
        <h1>${say("list.title")}</h1>
        ${
          this.isOffline
            ? html`<p class="notice" role="status">
                ${say("list.offline")} <button type="button" @click=${this.#load}>${say("again")}</button>
              </p>`
            : this.me.visiting
              ? nothing
              : html`<form class="new" @submit=${this.#create}>
                <label for="new-task">${say("list.new")}</label>
                <div class="row">
                  <input id="new-task" name="name" maxlength="200" autocomplete="off" placeholder=${say("list.placeholder")} />
                  <button class="primary" ?disabled=${this.busy}>${say("list.start")}</button>
                </div>
              </form>`
        }
        ${this.failure ? html`<p class="failure" role="alert">${this.failure}</p>` : nothing} ${this.#list()}
        ${this.withheld ? html`<p class="quiet">${say("access.withheld", { n: this.withheld })}</p>` : nothing}
        ${this.isOffline || this.me.visiting ? nothing : html`<clew-passkey-offer .api=${this.api}></clew-passkey-offer>`}
      </main>`;
  }

  #list() {
    if (!this.tasks) return this.failure ? nothing : html`<p class="quiet" role="status">${say("loading")}</p>`;
    if (!this.tasks.length) return html`<p class="quiet">${say(this.isOffline ? "list.nothing_kept" : "list.nothing")}</p>`;
    const isOver = (task: Task): boolean => task.status === "done" || task.status === "archived";
    const waiting = this.shelf.waiting();
    const [live, over] = [this.tasks.filter((task) => !isOver(task)), this.tasks.filter(isOver)];
    return html`<ul class="tasks">
        ${live.map((task) => this.#task(task, waiting))}
      </ul>
      ${
        over.length
          ? html`<details class="over">
              <summary>${say("list.over", { n: over.length })}</summary>
              <ul class="tasks">
                ${over.map((task) => this.#task(task, waiting))}
              </ul>
            </details>`
          : nothing
      }`;
  }

  #task(task: Task, waiting: ReadonlySet<string>) {
    const at = Date.parse(task.updated_at);
    return html`<li>
      <a href="/t/${task.id}" @click=${(event: MouseEvent) => follow(this, event, `/t/${task.id}`)}>
        <span>
          <span class="task-name">${task.name}</span>
          ${waiting.has(task.id) ? html`<span class="waiting">${this.#unsent(task)}</span>` : nothing}
        </span>
        <span class="quiet"
          >${task.status === "open" ? "" : `${say(STATUSES[task.status])} · `}<time title=${inFull(at)}>${ago(at)}</time></span
        >
      </a>
    </li>`;
  }

  #unsent(task: Task): string {
    return say(this.stuck.has(task.id) ? "list.stuck" : "list.unsent");
  }

  readonly #load = async (): Promise<void> => {
    try {
      const isFirst = this.isFirst && !this.#hasBegun;
      const [listing, candidates] = await Promise.all([this.api.listing(), isFirst ? this.session.begin() : null]);
      // a task that one is not on any more, or that is gone, still has the words that nobody else has
      const [there, waiting] = [new Set(listing.tasks.map(({ id }) => id)), this.shelf.waiting()];
      const left = this.shelf.tasks().filter(({ id }) => waiting.has(id) && !there.has(id));
      this.tasks = [...listing.tasks, ...left];
      this.withheld = listing.withheld ?? 0;
      if (candidates) {
        this.#hasBegun = true;
        this.candidate = this.me.continuation === false ? null : (candidates[0] ?? null);
      }
      this.isOffline = false;
      this.failure = "";
    } catch (error) {
      if (isSignedOut(error)) return signedOut(this, error.why);
      const kept = this.shelf.tasks();
      this.isOffline = error instanceof Problem && error.status === 0;
      if (this.isOffline && !this.tasks) this.tasks = kept;
      else if (!this.isOffline) this.failure = whyOf(error);
    }
  };

  readonly #create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    this.busy = true;
    try {
      const task = await this.api.newTask(name);
      go(this, `/t/${task.id}`);
    } catch (error) {
      if (isSignedOut(error)) signedOut(this, error.why);
      else this.failure = whyOf(error);
    } finally {
      this.busy = false;
    }
  };

  #focus(selector: string): void {
    const found = this.querySelector<HTMLElement>(selector) ?? this.querySelector<HTMLElement>("#new-task");
    found?.scrollIntoView({ block: "center" });
    found?.focus({ preventScroll: true });
  }
}

customElements.define("clew-task-list", TaskList);
