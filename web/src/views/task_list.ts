/** All tasks of the person who is signed in, and a field for a new one. */

import { html, nothing } from "lit";

import { Problem, type Api, type Task } from "../sync/api";
import { go, PageElement, signedOut } from "./element";

export class TaskList extends PageElement {
  static override properties = { api: { attribute: false }, tasks: { state: true }, failure: { state: true }, busy: { state: true } };

  declare api: Api;
  declare tasks: Task[] | null;
  declare failure: string;
  declare busy: boolean;

  constructor() {
    super();
    this.tasks = null;
    this.failure = "";
    this.busy = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    document.title = "Clew";
    void this.#load();
  }

  override render() {
    return html`<main class="list">
      <h1>Your tasks</h1>
      <form class="new" @submit=${this.#create}>
        <label for="new-task">New task</label>
        <div class="row">
          <input id="new-task" name="name" maxlength="200" autocomplete="off" placeholder="What are you working on?" />
          <button ?disabled=${this.busy}>Start</button>
        </div>
      </form>
      ${this.failure ? html`<p class="failure" role="alert">${this.failure}</p>` : nothing} ${this.#list()}
    </main>`;
  }

  #list() {
    if (!this.tasks) return this.failure ? nothing : html`<p class="quiet" role="status">Loading…</p>`;
    if (!this.tasks.length) return html`<p class="quiet">Nothing yet. Name what you are working on; it will be on every device you use.</p>`;
    return html`<ul class="tasks">
      ${this.tasks.map(
        (task) => html`<li>
          <a href="/t/${task.id}" @click=${(event: MouseEvent) => this.#open(event, task.id)}>
            <span class="task-name">${task.name}</span>
            <span class="quiet">${task.status === "open" ? "" : `${task.status} · `}${ago(task.updated_at)}</span>
          </a>
        </li>`,
      )}
    </ul>`;
  }

  async #load(): Promise<void> {
    try {
      this.tasks = await this.api.tasks();
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #create = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const name = String(new FormData(event.target as HTMLFormElement).get("name") ?? "").trim();
    this.busy = true;
    try {
      const task = await this.api.newTask(name);
      go(this, `/t/${task.id}`);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.busy = false;
    }
  };

  #open(event: MouseEvent, id: string): void {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(this, `/t/${id}`);
  }

  #fail(error: unknown): void {
    if (error instanceof Problem && error.code === "unauthenticated") signedOut(this, error.why);
    else this.failure = error instanceof Error ? error.message : String(error);
  }
}

const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A moment (RFC 3339) as "3 hours ago". */
export function ago(moment: string, now = Date.now()): string {
  const seconds = (Date.parse(moment) - now) / 1000;
  if (!Number.isFinite(seconds)) return "";
  const spans: [Intl.RelativeTimeFormatUnit, number][] = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
  for (const [unit, length] of spans) {
    if (Math.abs(seconds) >= length) return words.format(Math.round(seconds / length), unit);
  }
  return "just now";
}

customElements.define("clew-task-list", TaskList);
