/**
 * What was said in a task, and a field to say more. Owns how messages, answers as they grow, what came of them and what the
 * agent is doing are shown; must never send while a word is being composed, nor move what somebody is reading.
 */

import { html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import * as Y from "yjs";

import { readMessages, type Message, type Ref } from "../doc/conversation";
import { addMessage } from "../doc/entries";
import { root } from "../doc/schema";
import { canUndo, replacedIn, undoAnswer } from "../doc/undoing";
import type { Api, Turn } from "../sync/api";
import { ago, inFull, say } from "../words/language";
import { draftOf, keepDraft } from "./drafts";
import { isSignedOut, MINUTE, PageElement, whileSeen, whyOf } from "./element";
import { isComposing } from "./keys";
import { entriesOf, fileAs, leftView, saidView, undoneView, type Entries, type Unfiled } from "./message_parts";
import type { AgentHere } from "./people";

/** So many messages are shown at first. */
const SHOWN = 100;
/** Within this many pixels of the end the view follows what comes. */
const NEAR = 80;

export interface Me {
  name: string;
  session: string | null;
  /** Whether this device has one task only: it may not ask for the person's other devices. */
  isVisiting?: boolean;
  /** Whether one may comment and no more. */
  isCommenter?: boolean;
}

export class ConversationView extends PageElement {
  static override properties = {
    doc: { attribute: false },
    api: { attribute: false },
    task: {},
    me: { attribute: false },
    agents: { attribute: false },
    editable: { type: Boolean },
    turns: { state: true },
    shown: { state: true },
    failure: { state: true },
    isBelow: { state: true },
    stopping: { state: true },
  };

  declare doc: Y.Doc;
  declare api: Api;
  declare task: string;
  declare me: Me;
  declare agents: AgentHere[];
  declare editable: boolean;
  declare turns: Turn[];
  declare shown: number;
  declare failure: string;
  declare isBelow: boolean;
  declare stopping: boolean;
  #devices: Map<string, string> | null = null;
  #asking: ReturnType<typeof setTimeout> | null = null;
  #isAtEnd = true;
  #unage: (() => void) | null = null;
  #told = "";
  #replaced: ReadonlySet<string> = new Set();

  constructor() {
    super();
    this.editable = false;
    this.agents = [];
    this.turns = [];
    this.shown = SHOWN;
    this.failure = "";
    this.isBelow = false;
    this.stopping = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    root(this.doc, "messages").observeDeep(this.#heard);
    this.#askTurns(0);
    this.#unage = whileSeen(() => this.requestUpdate(), MINUTE);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    root(this.doc, "messages").unobserveDeep(this.#heard);
    if (this.#asking) clearTimeout(this.#asking);
    this.#resized.disconnect();
    this.#unage?.();
  }

  /** Less room, as with a keyboard on the screen, or being shown at all: who was at the end stays there. */
  readonly #resized = new ResizeObserver(() => this.#follow());

  protected override firstUpdated(): void {
    this.#resized.observe(this.querySelector(".messages")!);
  }

  #follow(): void {
    const list = this.querySelector<HTMLElement>(".messages");
    if (list && this.#isAtEnd) list.scrollTop = list.scrollHeight;
  }

  /** Bring a message into view. */
  reveal(id: string): void {
    const index = readMessages(this.doc)
      .reverse()
      .findIndex((one) => one.id === id);
    if (index < 0) return;
    this.shown = Math.max(this.shown, index + 20);
    void this.updateComplete.then(() => {
      const message = this.querySelector<HTMLElement>(`[data-message="${CSS.escape(id)}"]`);
      message?.scrollIntoView({ block: "center" });
      message?.focus({ preventScroll: true });
    });
  }

  override render() {
    const all = readMessages(this.doc);
    const messages = all.slice(-this.shown);
    const entries = entriesOf(this.doc);
    this.#replaced = replacedIn(this.doc);
    return html`<h2 class="unseen">${say("talk.title")}</h2>
      <div class="messages" tabindex="0" role="region" aria-label=${say("talk.title")} @scroll=${this.#scrolled}>
        ${
          all.length > messages.length
            ? html`<button type="button" class="plain earlier" @click=${() => (this.shown += SHOWN)}>
                ${say("talk.earlier", { n: all.length - messages.length })}
              </button>`
            : nothing
        }
        ${all.length ? nothing : html`<p class="quiet welcome">${say("talk.welcome")}</p>`}
        <ol>
          ${repeat(
            messages,
            (one) => one.id,
            (one) => this.#message(one, entries),
          )}
        </ol>
        ${this.#agent()}
      </div>
      ${this.isBelow ? html`<button type="button" class="to-end" @click=${this.#toEnd}>${say("talk.newer")}</button>` : nothing}
      ${this.failure ? html`<p class="failure" role="alert">${this.failure}</p>` : nothing}
      ${this.editable ? this.#composer() : this.me.isCommenter ? html`<p class="quiet">${say("talk.comments")}</p>` : nothing}`;
  }

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has("agents") && this.#told !== JSON.stringify(this.agents)) {
      this.#told = JSON.stringify(this.agents);
      this.#askTurns(400);
    }
  }

  protected override updated(): void {
    this.#follow();
    const field = this.querySelector<HTMLTextAreaElement>(".composer textarea");
    if (field && field.dataset["of"] !== this.task) {
      field.dataset["of"] = this.task;
      field.value = draftOf(this.task);
    }
  }

  /** What is left to a person of an answer: words that nobody has filed. */
  #left(refs: Ref[], entries: Entries) {
    const file = (ref: Unfiled, kind: string): void => {
      fileAs(this.doc, ref, kind, { name: this.me.name });
      this.requestUpdate();
    };
    return leftView(refs, entries, this.editable ? file : null);
  }

  #message(one: Message, entries: Entries) {
    const isAgent = one.role === "agent";
    const isMine =
      !isAgent &&
      (one.session === null
        ? one.author === this.me.name
        : one.session === this.me.session || (this.#devices?.has(one.session) ?? one.author === this.me.name));
    const device = isMine && one.session && one.session !== this.me.session ? this.#devices?.get(one.session) : null;
    const turn = this.turns.find((other) => other.answer === one.id);
    return html`<li class="message ${isAgent ? "agent" : isMine ? "mine" : "other"}" data-message=${one.id} tabindex="-1">
      <p class="meta">
        <b>${isMine ? say("people.you") : (one.author ?? say("talk.somebody"))}</b>
        ${isAgent ? html`<span class="badge">${say("people.ai")}</span>` : nothing}
        ${device ? html`<span>${say("talk.on_device", { device })}</span>` : nothing}
        ${one.at === null ? nothing : html`<time title=${inFull(one.at)}>${ago(one.at)}</time>`}
      </p>
      ${saidView(one, entries, (id) => this.#send("show-entry", id))}
      ${turn?.status === "stopped" ? html`<p class="meta">${say("talk.stopped")}</p>` : nothing}
      ${this.#left(one.refs, entries)} ${isAgent ? this.#undone(one, entries) : nothing}
      ${isAgent ? nothing : this.#state(one.id)}
    </li>`;
  }

  #undone(one: Message, entries: Entries) {
    const undo = (): void => {
      undoAnswer(this.doc, one, { name: this.me.name });
      this.requestUpdate();
    };
    return undoneView(one.refs, entries, this.me.name, this.editable && canUndo(this.doc, one, this.#replaced) ? undo : null);
  }

  /** What became of a message that nobody has answered. */
  #state(message: string) {
    const turn = this.turns.find((one) => one.messages.at(-1) === message);
    if (!turn) return nothing;
    if (turn.status === "failed")
      return html`<p class="meta bad">${turn.why ? say("talk.failed_why", { why: turn.why }) : say("talk.failed")}</p>`;
    if (turn.status === "expired") return html`<p class="meta bad">${say("talk.expired")}</p>`;
    if (turn.status === "queued") return html`<p class="meta">${say(this.agents.length ? "talk.queued" : "talk.no_agent")}</p>`;
    return nothing;
  }

  #agent() {
    const busy = this.agents.find((one) => one.state !== null);
    const running = this.turns.find((one) => one.status === "running");
    if (!busy && !running) return nothing;
    const states: Record<string, `agent.${"reading" | "thinking" | "writing"}`> = {
      reading: "agent.reading",
      thinking: "agent.thinking",
      writing: "agent.writing",
    };
    const name = busy?.name ?? this.agents[0]?.name ?? say("agent.name");
    const turn = busy?.turn ?? running?.id ?? null;
    return html`<div class="agent-state">
      <span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>
      <span>${say(states[busy?.state ?? ""] ?? "agent.at_work", { name })}</span>
      ${busy?.queued ? html`<span class="quiet">${say("agent.queued", { n: busy.queued })}</span>` : nothing}
      ${turn && this.editable ? this.#stopButton(turn) : nothing}
    </div>`;
  }

  #stopButton(turn: string) {
    const stop = (): void => void this.#stop(turn);
    return html`<button type="button" class="stop" ?disabled=${this.stopping} @click=${stop}>${say("agent.stop")}</button>`;
  }

  #composer() {
    const isTouch = matchMedia("(pointer: coarse)").matches;
    return html`<form class="composer" @submit=${this.#submit}>
      <label class="unseen" for="composer">${say("talk.field")}</label>
      <textarea
        id="composer"
        rows="1"
        maxlength="200000"
        placeholder=${say("talk.placeholder")}
        enterkeyhint=${isTouch ? "enter" : "send"}
        @input=${(event: Event) => keepDraft(this.task, (event.target as HTMLTextAreaElement).value)}
        @keydown=${this.#pressed}
        @compositionend=${this.#composed}
      ></textarea>
      <button class="primary send" @mousedown=${(event: Event) => event.preventDefault()}>${say("talk.send")}</button>
    </form>`;
  }

  #composedAt = -Infinity;
  readonly #composed = (event: Event): void => void (this.#composedAt = event.timeStamp);

  /** Enter sends, but not where it picks a word (Safari tells of it after the composition has ended), nor on a phone's keyboard. */
  readonly #pressed = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.altKey || isComposing(event)) return;
    if (event.timeStamp - this.#composedAt < 60 || matchMedia("(pointer: coarse)").matches) return;
    event.preventDefault();
    (event.target as HTMLTextAreaElement).form?.requestSubmit();
  };

  readonly #submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = this.querySelector<HTMLTextAreaElement>("#composer")!;
    const text = field.value.trim();
    if (!text) return;
    this.#isAtEnd = true;
    addMessage(this.doc, text, this.me);
    field.value = "";
    keepDraft(this.task, "");
    field.focus();
    this.#askTurns(1_500);
  };

  async #stop(turn: string): Promise<void> {
    this.stopping = true;
    this.failure = "";
    try {
      await this.api.stop(turn);
    } catch (error) {
      this.failure = whyOf(error);
    } finally {
      this.stopping = false;
      this.#askTurns(0);
    }
  }

  /** Ask the server how the turns stand, in a while; while one is waiting, again and again, but slowly. */
  #askTurns(wait: number): void {
    if (this.#asking) clearTimeout(this.#asking);
    this.#asking = setTimeout(() => {
      this.#asking = null;
      if (document.hidden) this.#askTurns(10_000);
      else void this.#loadTurns();
    }, wait);
  }

  async #loadTurns(): Promise<void> {
    try {
      this.turns = await this.api.turns(this.task);
      if (this.turns.some((one) => one.status === "queued" || one.status === "running")) this.#askTurns(10_000);
    } catch (error) {
      if (!isSignedOut(error)) this.turns = this.turns.filter((one) => one.status !== "running");
    }
    if (!this.isConnected || this.#devices || this.me.isVisiting) return;
    const strangers = readMessages(this.doc).some((one) => one.role === "user" && one.session && one.session !== this.me.session);
    if (!strangers) return;
    this.#devices = await this.#namesOfSessions().catch(() => null);
    this.requestUpdate();
  }

  async #namesOfSessions(): Promise<Map<string, string>> {
    const [sessions, devices] = await Promise.all([this.api.sessions(), this.api.deviceNames()]);
    return new Map([...sessions].map(([session, device]) => [session, devices.get(device) ?? ""]));
  }

  readonly #scrolled = (): void => {
    const list = this.querySelector<HTMLElement>(".messages")!;
    this.#isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR;
    if (this.#isAtEnd) this.isBelow = false;
  };

  readonly #toEnd = (): void => {
    this.#isAtEnd = true;
    this.isBelow = false;
    this.requestUpdate();
  };

  readonly #heard = (events: Y.YEvent<Y.AbstractType<unknown>>[], transaction: Y.Transaction): void => {
    if (!this.#isAtEnd) this.isBelow = true;
    this.requestUpdate();
    if (transaction.local) return;
    for (const event of events) {
      if (event.target.parent !== null) continue;
      for (const id of event.changes.keys.keys()) {
        const message = readMessages(this.doc).find((one) => one.id === id);
        if (message) this.#send("said", { who: message.author ?? say("talk.somebody"), role: message.role });
        if (message?.role === "user") this.#askTurns(1_500);
      }
    }
  };

  #send(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  }
}

customElements.define("clew-conversation", ConversationView);
