/** One task, live: its name, who is here, whether all is saved, and its documents. */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { addDocument, readDocuments, readMeta, root, type Readable, type TaskDocument } from "../doc/schema";
import { bindText } from "../doc/text_change";
import { Problem, type Api, type Person, type Task } from "../sync/api";
import type { Shown } from "../sync/light";
import type { Session } from "../sync/session";
import { TaskSync } from "../sync/task_sync";
import type { End } from "../sync/ticket_socket";
import { go, PageElement, signedOut } from "./element";
import { lightView } from "./light_view";
import { peopleHere, peopleView } from "./people";

/** Close codes that y-websocket does not retry, in words. */
const ENDED: Record<number, string> = {
  4403: "You may not open this task any more. What you see is what this tab had.",
  4404: "This task is not there any more. What you see is what this tab had.",
  4429: "This tab sent too much at once. Reload to go on.",
};

export class TaskPage extends PageElement {
  static override properties = {
    api: { attribute: false },
    session: { attribute: false },
    me: { attribute: false },
    task: { type: String },
    known: { state: true },
    light: { state: true },
    failure: { state: true },
    lost: { state: true },
    chosen: { state: true },
  };

  declare api: Api;
  declare session: Session;
  declare me: Person;
  declare task: string;
  declare known: Task | null;
  declare light: Shown;
  declare failure: string;
  declare lost: boolean;
  declare chosen: string;
  #sync: TaskSync | null = null;
  #unbind: (() => void) | null = null;
  #bound: TaskDocument["title"] | null = null;

  constructor() {
    super();
    this.known = null;
    this.failure = "";
    this.lost = false;
    this.chosen = "";
    this.light = { kind: "opening" };
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("beforeunload", this.#guard);
    void this.#open();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("beforeunload", this.#guard);
    this.#unbindTitle();
    this.#sync?.destroy();
    this.#sync = null;
  }

  override render() {
    const readable = this.#sync?.ready ? readMeta(this.#sync.doc) : null;
    const name = (readable?.kind === "readable" && readable.meta.name) || this.known?.name || "Task";
    document.title = `${name} · Clew`;
    return html`<header class="task-head">
        <a class="back" href="/" aria-label="All tasks" @click=${this.#back}>←</a>
        ${this.#nameField(name)} ${lightView(this.light)}
        ${this.#sync ? peopleView(peopleHere(this.#sync.awareness.getStates(), this.#sync.doc.clientID)) : nothing}
      </header>
      <main class="task">
        ${this.failure ? html`<p class="failure" role="alert">${this.failure}</p>` : nothing}
        ${this.lost ? this.#signInAgain() : nothing} ${this.#body(readable)}
      </main>`;
  }

  protected override updated(): void {
    const field = this.querySelector<HTMLInputElement>("#document-title");
    const title = this.#document?.title ?? null;
    if (field && title !== this.#bound) {
      this.#unbindTitle();
      this.#bound = title;
      if (title) this.#unbind = bindText(field, title);
    }
  }

  get #documents(): TaskDocument[] {
    return this.#sync?.ready ? readDocuments(this.#sync.doc) : [];
  }

  get #document(): TaskDocument | undefined {
    const all = this.#documents;
    return all.find((one) => one.id === this.chosen) ?? all[0];
  }

  get #mayWrite(): boolean {
    return (this.known?.role === "editor" || this.known?.role === "owner") && this.light.kind !== "refused";
  }

  #nameField(name: string) {
    if (!this.#mayWrite) return html`<h1 class="task-title">${name}</h1>`;
    return html`<h1 class="task-title">
      <label class="unseen" for="task-name">Name of the task</label>
      <input id="task-name" maxlength="200" autocomplete="off" .value=${name} @change=${this.#rename} />
    </h1>`;
  }

  #body(readable: Readable | null) {
    if (!readable) return this.failure ? nothing : html`<p class="quiet">Opening…</p>`;
    if (readable.kind === "newer") {
      return html`<p class="failure" role="alert">
        This task was written by a newer Clew than this page. <button type="button" @click=${() => location.reload()}>Reload</button>
      </p>`;
    }
    const [all, chosen] = [this.#documents, this.#document];
    return html`${this.#tabs(all, chosen)} ${chosen ? this.#sheet(chosen) : html`<p class="quiet">This task has no document.</p>`}`;
  }

  /** The words stay, and stay editable: only the way to the server is closed. */
  #signInAgain() {
    return html`<div class="failure" role="alert">
      <p>This browser is not signed in any more. Ask for a new link with <code>clew link</code>, open it in another tab, then go on here.</p>
      <button type="button" @click=${this.#goOn}>Go on</button>
    </div>`;
  }

  #tabs(all: TaskDocument[], chosen: TaskDocument | undefined) {
    return html`<nav class="tabs" aria-label="Documents">
      ${all.map(
        (one) => html`<button
          type="button"
          aria-current=${one === chosen || one.id === chosen?.id ? "page" : "false"}
          @click=${() => (this.chosen = one.id)}
        >
          ${one.title.toString() || "Untitled"}
        </button>`,
      )}
      ${this.#mayWrite ? html`<button type="button" class="add" @click=${this.#add}>+ Document</button>` : nothing}
    </nav>`;
  }

  #sheet(chosen: TaskDocument) {
    const title = chosen.title.toString();
    return html`<label class="unseen" for="document-title">Title of the document</label>
      <input id="document-title" class="document-title" placeholder="Untitled" autocomplete="off" ?readonly=${!this.#mayWrite} />
      ${keyed(
        chosen.id,
        html`<clew-editor .body=${chosen.body} .sync=${this.#sync} .editable=${this.#mayWrite} .label=${title || "Document"}></clew-editor>`,
      )}`;
  }

  async #open(): Promise<void> {
    try {
      const [known] = await Promise.all([this.api.task(this.task), this.session.attach(this.task), import("./editor")]);
      if (!this.isConnected) return;
      this.known = known;
      this.#connect();
    } catch (error) {
      this.#fail(error);
    }
  }

  #connect(): void {
    const sync = new TaskSync({
      server: location.origin.replace(/^http/, "ws"),
      task: this.task,
      ticket: () => this.api.ticket(this.task, this.session.id),
      user: { id: this.me.id, name: this.me.name, kind: "user" },
    });
    this.#sync = sync;
    const redraw = (): void => this.requestUpdate();
    sync.on("light", (shown) => (this.light = shown));
    sync.on("presence", redraw);
    sync.on("ready", redraw);
    sync.on("ended", (end) => void this.#ended(end));
    root(sync.doc, "meta").observe(redraw);
    root(sync.doc, "documents").observeDeep((events) => {
      // every letter of a body comes by here too: only titles and entries change what this view shows
      if (events.some((event) => event.path.length < 2 || event.path.at(1) === "title")) redraw();
    });
  }

  async #ended({ code, reason }: End): Promise<void> {
    if (code === 4401 || (code === 4403 && (await this.#isSignedOut()))) return void (this.lost = true);
    this.light = { kind: "refused", why: reason || "the server closed this task" };
    this.failure = ENDED[code] ?? "The server does not take what this tab has. Copy what you need, then reload.";
  }

  async #isSignedOut(): Promise<boolean> {
    try {
      await this.api.me();
      return false;
    } catch (error) {
      return error instanceof Problem && error.code === "unauthenticated";
    }
  }

  readonly #goOn = (): void => {
    this.lost = false;
    this.#sync?.reconnect();
  };

  readonly #rename = async (event: Event): Promise<void> => {
    const field = event.target as HTMLInputElement;
    const name = field.value.trim();
    if (!name) return this.requestUpdate();
    try {
      await this.api.renameTask(this.task, name);
      if (this.known) this.known = { ...this.known, name };
    } catch (error) {
      this.#fail(error);
    }
  };

  readonly #add = (): void => {
    if (this.#sync) this.chosen = addDocument(this.#sync.doc, "");
  };

  readonly #back = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(this, "/");
  };

  /** Closing a tab with unsaved words in it loses them: there is no other copy. */
  readonly #guard = (event: BeforeUnloadEvent): void => {
    if (this.#sync?.unsaved) event.preventDefault();
  };

  #unbindTitle(): void {
    this.#unbind?.();
    this.#unbind = null;
    this.#bound = null;
  }

  #fail(error: unknown): void {
    if (error instanceof Problem && error.code === "unauthenticated") return signedOut(this, error.why);
    const missing = error instanceof Problem && error.code === "not_found";
    this.failure = missing ? "There is no such task, or it is not yours." : error instanceof Error ? error.message : String(error);
  }
}

customElements.define("clew-task-page", TaskPage);
