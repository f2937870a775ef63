/** One task, live: what is said, what is written, where it stands, who is here, and whether all is saved. */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";

import { readMeta, root, type Readable } from "../doc/schema";
import { Problem, type Api, type Me, type Task } from "../sync/api";
import type { Shown } from "../sync/light";
import { mayWrite, OpenTask } from "../sync/open_task";
import type { Session } from "../sync/session";
import type { Shelf } from "../sync/shelf";
import type { End } from "../sync/ticket_socket";
import { say } from "../words/language";
import { UNCONFIRMED } from "./access_words";
import { Announcer } from "./announcer";
import "./conversation_view";
import type { ConversationView } from "./conversation_view";
import "./documents_view";
import { follow, go, howSignedOut, isRevoked, isSignedOut, PageElement, revoked, signedOut, whileSeen, whyOf } from "./element";
import { handOverButton } from "./handoff_parts";
import "./ledger_view";
import type { LedgerView } from "./ledger_view";
import { lightView, wordsOf } from "./light_view";
import { appMenu } from "./menu";
import { DeviceNames } from "./own_devices";
import { panelNav, type Panel } from "./panels";
import { agentsHere, alsoHere, peopleHere, peopleView, type AgentHere, type PersonHere } from "./people";
import { saveFile } from "./saving";
import "./agents_switch";
import { catchUp, catchUpView, dialogsView } from "./task_dialogs";
import { taskMenu } from "./task_menu";
import { noticesView } from "./task_notices";
import { TaskPlace } from "./task_place";
import { shutBy, type Shut } from "./task_shut";

/** So long a server may be away before more is made of it than the light. */
const AWAY = 5_000;

export class TaskPage extends PageElement {
  static override properties = {
    api: { attribute: false },
    session: { attribute: false },
    shelf: { attribute: false },
    me: { attribute: false },
    task: { type: String },
    light: { state: true },
    failure: { state: true },
    isUnconfirmed: { state: true },
    lost: { state: true },
    shut: { state: true },
    chosen: { state: true },
    panel: { state: true },
    isAway: { state: true },
    isCatchingUp: { state: true },
    isAtMembers: { state: true },
    isHandingOver: { state: true },
    spoken: { state: true },
    agents: { state: true },
  };

  declare api: Api;
  declare session: Session;
  declare shelf: Shelf;
  declare me: Me;
  declare task: string;
  declare light: Shown;
  declare failure: string;
  /** Whether the task asks the person to confirm that it is them. */
  declare isUnconfirmed: boolean;
  declare lost: boolean;
  declare shut: Shut;
  declare chosen: string;
  /** Which part a narrow screen shows. */
  declare panel: Panel;
  declare isAway: boolean;
  declare isCatchingUp: boolean;
  declare isAtMembers: boolean;
  declare isHandingOver: boolean;
  declare spoken: string;
  declare agents: AgentHere[];
  #open: OpenTask | null = null;
  #unwatch: (() => void) | null = null;
  #awayTimer: ReturnType<typeof setTimeout> | null = null;
  #place: TaskPlace | null = null;
  readonly #deviceNames = new DeviceNames();
  readonly #announcer = new Announcer((sentence) => (this.spoken = sentence));

  constructor() {
    super();
    this.failure = "";
    this.isUnconfirmed = false;
    this.lost = false;
    this.shut = "";
    this.chosen = "";
    this.panel = "talk";
    this.light = { kind: "opening" };
    this.isAway = false;
    this.isCatchingUp = false;
    this.isAtMembers = false;
    this.isHandingOver = false;
    this.spoken = "";
    this.agents = [];
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("beforeunload", this.#guard);
    visualViewport?.addEventListener("resize", this.#fit);
    this.#place = new TaskPlace(this, this);
    this.#unwatch = whileSeen(() => this.shut && void this.#again());
    void this.#begin();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("beforeunload", this.#guard);
    visualViewport?.removeEventListener("resize", this.#fit);
    this.#announcer.stop();
    this.#place?.stop();
    this.#unwatch?.();
    if (this.#awayTimer) clearTimeout(this.#awayTimer);
    this.#open?.close();
    this.#open = null;
  }

  override render() {
    const readable = this.#sync?.ready && this.shut !== "hidden" ? readMeta(this.#sync.doc) : null;
    const name = (readable?.kind === "readable" && readable.meta.name) || (!this.shut && this.#open?.known.name) || say("task.untitled");
    document.title = `${name} · Clew`;
    const people = this.#sync ? this.#people() : [];
    return html`<div class="task-page" data-panel=${this.panel}>
      <header class="task-head">
        <a class="back" href="/" aria-label=${say("task.back")} @click=${(event: MouseEvent) => follow(this, event, "/")}>←</a>
        ${this.#nameField(name)}
        ${
          this.me.visiting
            ? nothing
            : handOverButton(this.#handOver)
        }
        ${appMenu(this.#menu(), !!this.me.visiting)}
        <div class="task-line">${lightView(this.light, this.#open?.keeping ?? "kept")} ${peopleView(people)}</div>
      </header>
      ${noticesView(this, {
        open: this.#open,
        also: alsoHere(people),
        mayWrite: this.#mayWrite,
        goOn: this.#goOn,
        again: this.shut ? this.#again : null,
      })}
      ${this.#body(readable)}
      <p class="unseen" role="status" aria-live="polite">${this.spoken}</p>
      ${dialogsView(this, {
        own: (role) => void this.#change(() => Promise.resolve({ role })),
        leave: this.#leave,
      })}
    </div>`;
  }

  get #sync() {
    return this.#open?.sync ?? null;
  }

  get #mayWrite(): boolean {
    return mayWrite(this.#open?.known.role) && this.light.kind !== "refused";
  }

  #nameField(name: string) {
    if (!this.#mayWrite) return html`<h1 class="task-title">${name}</h1>`;
    return html`<h1 class="task-title">
      <label class="unseen" for="task-name">${say("task.name")}</label>
      <input id="task-name" maxlength="200" autocomplete="off" .value=${name} @change=${this.#rename} />
    </h1>`;
  }

  #menu() {
    return taskMenu({
      status: this.#mayWrite ? (this.#open?.known.status ?? null) : null,
      setStatus: (status) => void this.#change(() => this.api.setStatus(this.task, status)),
      catchUp: () => catchUp(this),
      showMembers: () => (this.isAtMembers = true),
      save: this.me.visiting
        ? null
        : (format) => void this.#change(async () => (saveFile(await this.api.exportFile(this.task, format)), {})),
      agents: this.#mayWrite
        ? html`<clew-agents-switch
            .api=${this.api}
            .task=${this.task}
            ?owner=${this.#open?.known.role === "owner"}
          ></clew-agents-switch>`
        : null,
      handOver: this.me.visiting ? null : this.#handOver,
    });
  }

  #body(readable: Readable | null) {
    if (!readable)
      return this.failure
        ? html`<main></main>`
        : html`<main class="opening"><p class="quiet" role="status">${say("task.opening")}</p></main>`;
    if (readable.kind === "newer") {
      return html`<main class="opening">
        <p class="failure" role="alert">
          ${say("task.newer")} <button type="button" @click=${() => location.reload()}>${say("reload")}</button>
        </p>
      </main>`;
    }
    const open = this.#open!;
    const { doc } = open.sync;
    return html`${catchUpView(this, open.known.name)}
      <main class="panels" @focusin=${this.#place!.entered}>
        ${keyed(
          doc.guid,
          html`<clew-conversation
              class="panel panel-talk"
              .doc=${doc}
              .api=${this.api}
              .task=${this.task}
              .me=${{ name: this.me.name, session: this.session.id, isVisiting: !!this.me.visiting, isCommenter: open.known.role === "commenter" }}
              .agents=${this.agents}
              ?editable=${this.#mayWrite}
              @show-entry=${(event: CustomEvent<string>) => this.#show("ledger", (view) => (view as LedgerView).reveal(event.detail))}
              @said=${this.#said}
            ></clew-conversation>
            <clew-documents
              class="panel panel-document"
              .sync=${open.sync}
              .who=${{ name: this.me.name }}
              .chosen=${this.chosen}
              ?editable=${this.#mayWrite}
              .place=${this.#place!.caret}
              @chosen=${(event: CustomEvent<string>) => (this.chosen = event.detail)}
              @moved=${this.#place!.moved}
              @wrote=${() => this.#announcer.tell({ what: "wrote", who: this.#other() })}
            ></clew-documents>
            <clew-ledger
              class="panel panel-ledger"
              tabindex="0"
              role="region"
              aria-label=${say("ledger.title")}
              .doc=${doc}
              .who=${{ name: this.me.name }}
              ?editable=${this.#mayWrite}
              @show-message=${(event: CustomEvent<string>) => this.#show("talk", (view) => (view as ConversationView).reveal(event.detail))}
              @filed=${(event: CustomEvent<{ by: string }>) => this.#announcer.tell({ what: "filed", who: event.detail.by })}
            ></clew-ledger>`,
        )}
      </main>
      ${panelNav(this.panel, (panel) => this.#place!.moveTo(panel))}`;
  }

  #show(panel: Panel, then: (view: HTMLElement) => void): void {
    this.panel = panel;
    void this.updateComplete.then(() => then(this.querySelector<HTMLElement>(`.panel-${panel}`)!));
  }

  async #begin(): Promise<void> {
    try {
      const { api, session, shelf, task } = this;
      const open = await OpenTask.open({ api, session, shelf, task, server: location.origin.replace(/^http/, "ws") });
      if (!this.isConnected) return open.close();
      this.#open = open;
      this.#place?.opened(open);
      open.on("changed", () => this.requestUpdate());
      open.on("swapped", () => this.#listen(open));
      open.on("ended", (end) => void this.#ended(end));
      this.#listen(open);
    } catch (error) {
      this.#fail(error);
    }
  }

  #listen({ sync }: OpenTask): void {
    const redraw = (): void => this.requestUpdate();
    this.#shine(sync.light);
    sync.on("light", (shown) => this.#shine(shown));
    sync.on("presence", () => {
      this.agents = agentsHere(sync.awareness.getStates());
      if (!this.me.visiting) void this.#deviceNames.learn(this.api, this.me.id, sync.awareness.getStates()).then((isNew) => isNew && redraw());
      redraw();
    });
    sync.on("ready", redraw);
    root(sync.doc, "meta").observe(redraw);
    redraw();
  }

  #people(): PersonHere[] {
    const { awareness, doc } = this.#sync!;
    return peopleHere(awareness.getStates(), doc.clientID, { device: this.me.device, names: this.#deviceNames.known });
  }

  /** Whom others' writing is ascribed to when it is read out: the one other person here, or just somebody. */
  #other(): string {
    const others = this.#people().filter((one) => !one.self);
    return others.length === 1 ? others[0]!.name : say("talk.somebody");
  }

  #shine(shown: Shown): void {
    const isTold =
      shown.kind === "offline" || shown.kind === "refused" || (shown.kind === "saved" && this.light.kind === "offline");
    if (isTold && shown.kind !== this.light.kind)
      this.#announcer.tell({ what: "light", words: wordsOf(shown, this.#open?.keeping ?? "kept") });
    this.light = shown;
    if (shown.kind === "offline") this.#awayTimer ??= setTimeout(() => (this.isAway = true), AWAY);
    else if (shown.kind !== "opening") {
      if (this.#awayTimer) clearTimeout(this.#awayTimer);
      this.#awayTimer = null;
      this.isAway = false;
    }
  }

  async #ended({ code, reason }: End): Promise<void> {
    const out = code === 4401 || code === 4403 ? await howSignedOut(this.api) : null;
    if (out === "revoked") return this.#abandon();
    if (code === 4401 || out) return void (this.lost = true);
    Object.assign(this, shutBy({ code, reason }));
    this.isUnconfirmed = reason === UNCONFIRMED;
  }

  /** This device was signed out from another: nothing of the task stays here but the words that nobody else has. */
  #abandon(): void {
    const lost = this.#open?.abandon();
    this.#open = null;
    revoked(this, lost ? lost.map(({ text }) => text).join("\n\n") : null);
  }

  readonly #handOver = async (): Promise<void> => {
    await this.#change(() => import("./handoff_dialog").then(() => ({})));
    this.isHandingOver = customElements.get("clew-handoff-dialog") !== undefined;
  };

  /** Whether the task is open to this page again. */
  readonly #again = async (press?: Event): Promise<void> => {
    try {
      await this.api.task(this.task);
    } catch (error) {
      return void ((press || isSignedOut(error)) && this.#fail(error));
    }
    [this.shut, this.failure, this.isUnconfirmed] = ["", "", false];
    if (!this.#open) return void this.#begin();
    this.light = this.#open.sync.light;
    this.#open.reopen();
  };

  readonly #leave = (): void => {
    this.#open?.close();
    this.#open = null;
    go(this, "/");
    this.shelf.forget(this.task);
  };

  readonly #goOn = (): void => {
    this.lost = false;
    this.#sync?.reconnect();
  };

  readonly #said = ({ detail: { who, role } }: CustomEvent<{ who: string; role: string }>): void =>
    this.#announcer.tell({ what: role === "agent" ? "answered" : "said", who });

  readonly #rename = async (event: Event): Promise<void> => {
    const name = (event.target as HTMLInputElement).value.trim();
    if (!name) return this.requestUpdate();
    await this.#change(() => this.api.renameTask(this.task, name).then(() => ({ name })));
  };

  async #change(change: () => Promise<Partial<Task>>): Promise<void> {
    try {
      const changed = await change();
      if (this.#open) this.#open.known = { ...this.#open.known, ...changed };
      this.failure = "";
    } catch (error) {
      this.#fail(error);
    }
    this.requestUpdate();
  }

  /** Closing a tab loses what is neither on the server's disk nor on this device's. */
  readonly #guard = (event: BeforeUnloadEvent): void => {
    if (this.#open?.wouldLose) event.preventDefault();
  };

  /** Keep above a keyboard that lies over the page (iOS); whoever zooms in sees less, and nothing else changes. */
  readonly #fit = (): void => {
    const { scale, height } = visualViewport!;
    if (Math.abs(scale - 1) > 0.01) return;
    this.style.setProperty("--height", `${height}px`);
    scrollTo(0, 0);
  };

  #fail(error: unknown): void {
    if (isRevoked(error)) return this.#abandon();
    if (isSignedOut(error)) return signedOut(this, error.why);
    this.failure = error instanceof Problem && error.code === "not_found" ? say("task.missing") : whyOf(error);
    if (!this.#open && error instanceof Problem && [403, 404].includes(error.status))
      Object.assign(this, { shut: "hidden", light: { kind: "refused", why: say("ended.closed") } });
    this.isUnconfirmed = error instanceof Problem && error.reason === UNCONFIRMED;
  }
}

customElements.define("clew-task-page", TaskPage);
