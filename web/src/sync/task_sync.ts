/**
 * One task's document over one connection that mends itself. Owns the Y.Doc's link to the server, presence and the saved
 * light's wiring; must never talk to other tabs behind the server's back (a revoked tab would go on hearing edits).
 */

import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import { Awareness } from "y-protocols/awareness";
import { WebsocketProvider } from "y-websocket";
import * as Y from "yjs";

import { Light, type Shown } from "./light";
import { hear, nameIn, roleIn, type Told } from "./notices";
import { ticketSocketClass, type End } from "./ticket_socket";

const SYNC = 0;
const STEP1 = 0;
export const BARRIER = 100;
export const REFUSAL = 101;
export const RENEWAL = 102;
export const NOTICE = 103;

/** Ask this long after the last edit, and at the latest this long after the first unasked one. */
const QUIET = 150;
const AT_LATEST = 1_000;
const HEARTBEAT = 5_000;
/** A line on which not a word is heard for so long after sleep has died in it. */
const WAKING = 1_500;
/** What others wrote is held for so long at the most. */
const HOLDING = 4_000;

export interface Presence {
  id?: string;
  name: string;
  kind?: string;
  device?: string | null;
}

export interface Options {
  /** `ws://host` or `wss://host`. */
  server: string;
  task: string;
  ticket: () => Promise<string>;
  user: Presence;
  /** What a copy on this device held; `unsent` if not all of it had got through. */
  doc?: Y.Doc;
  unsent?: boolean;
  Socket?: typeof WebSocket;
}

/** `reached` is the state vector of what the server has on its disk now. */
type Events = { light: Shown; presence: null; ready: null; synced: null; ended: End; reached: Uint8Array; role: Told };

export class TaskSync {
  readonly doc: Y.Doc;
  readonly awareness: Awareness;
  readonly provider: WebsocketProvider;
  /** Whether the document was complete at least once. */
  ready = false;

  readonly #light = new Light();
  readonly #listeners = new Map<keyof Events, Set<(value: never) => void>>();
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  #asking: { timer: ReturnType<typeof setTimeout>; since: number } | null = null;
  #told = "";
  #asked: { number: number; vector: Uint8Array }[] = [];
  #changed = true;

  readonly #ticket: () => Promise<string>;

  constructor(options: Options) {
    this.#ticket = options.ticket;
    this.doc = options.doc ?? new Y.Doc();
    this.awareness = new Awareness(this.doc);
    this.ready = this.doc.getMap("meta").has("schema");
    if (options.unsent) this.#light.edited();
    this.awareness.setLocalState({ user: options.user });
    this.provider = new WebsocketProvider(`${options.server}/sync`, options.task, this.doc, {
      WebSocketPolyfill: options.Socket ?? ticketSocketClass(options.ticket),
      awareness: this.awareness,
      disableBc: true,
      maxBackoffTime: 2_500,
    });
    this.#listen();
    this.#timers.push(
      setInterval(() => this.#ask(), HEARTBEAT),
      setInterval(() => this.#watch(), 500),
    );
  }

  get light(): Shown {
    return this.#light.shown;
  }

  get unsaved(): boolean {
    return this.#light.unsaved;
  }

  on<K extends keyof Events>(name: K, listener: (value: Events[K]) => void): () => void {
    const all = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, all.add(listener as (value: never) => void));
    return () => all.delete(listener as (value: never) => void);
  }

  /** One may write again: what was refused is on its way, and counts as unsaved until it is answered for. */
  allow(): void {
    this.#light.allowed();
    this.#askSoon();
    this.#tell();
  }

  /** Try again after an end for good, because something has changed. */
  reconnect(): void {
    this.provider.connect();
  }

  /** Try again now rather than in a moment. */
  retry(): void {
    this.#reconnect();
  }

  /**
   * Hold others' updates from the first on that `isUntimely`, for a few seconds at the most; returns how to let them in. What
   * is written here goes out meanwhile.
   */
  hold(isUntimely: (update: Uint8Array) => boolean): () => void {
    this.#release();
    this.#isUntimely = isUntimely;
    return () => this.#isUntimely === isUntimely && this.#release();
  }

  /** End the connection, and with it the document. */
  destroy(): void {
    this.leave();
    this.doc.destroy();
  }

  /** End the connection and leave the document as it is. */
  leave(): void {
    globalThis.removeEventListener?.("offline", this.#offline);
    globalThis.removeEventListener?.("online", this.#awake);
    globalThis.document?.removeEventListener("visibilitychange", this.#awake);
    this.#timers.forEach(clearInterval);
    if (this.#asking) clearTimeout(this.#asking.timer);
    if (this.#waking) clearTimeout(this.#waking);
    this.#held = [];
    this.#release();
    this.#listeners.clear();
    this.provider.destroy();
    this.awareness.destroy();
  }

  #listen(): void {
    const { provider, doc, awareness } = this;
    doc.on("update", (_update: Uint8Array, origin: unknown) => {
      this.#changed = true;
      if (origin === provider) return;
      this.#light.edited();
      this.#askSoon();
      this.#tell();
    });
    awareness.on("change", () => this.#emit("presence", null));
    provider.on("status", ({ status }) => {
      if (status === "connected") this.#connected();
    });
    provider.on("connection-close", () => this.#disconnected());
    provider.on("sync", (isSynced: boolean) => isSynced && this.#synced());
    provider.on("closed", (end) => this.#emit("ended", end));
    const take = provider.messageHandlers[SYNC]!;
    provider.messageHandlers[SYNC] = (out, message, ...rest) => {
      if (this.#isHeld(message)) this.#held.push(() => take(encoding.createEncoder(), message, ...rest));
      else take(out, message, ...rest);
    };
    provider.messageHandlers[BARRIER] = (_out, message) => {
      const number = decoding.readVarUint(message);
      this.#light.answered(number);
      const reached = this.#asked.filter((one) => one.number <= number).at(-1);
      this.#asked = this.#asked.filter((one) => one.number > number);
      if (reached) this.#emit("reached", reached.vector);
      this.#tell();
    };
    provider.messageHandlers[REFUSAL] = (_out, message) => {
      decoding.readVarUint(message);
      this.#light.refused(decoding.readVarString(message));
      this.#tell();
    };
    provider.messageHandlers[RENEWAL] = () => void this.#renew();
    provider.messageHandlers[NOTICE] = (_out, message) => {
      const notice = decoding.readVarString(message);
      const [told, name] = [roleIn(notice), nameIn(notice)];
      if (told) this.#emit("role", told);
      else if (name) awareness.setLocalStateField("user", { ...(awareness.getLocalState()?.["user"] as Presence), name });
      else hear(notice);
    };
    globalThis.addEventListener?.("offline", this.#offline);
    globalThis.addEventListener?.("online", this.#awake);
    globalThis.document?.addEventListener("visibilitychange", this.#awake);
  }

  #isUntimely: ((update: Uint8Array) => boolean) | null = null;
  #held: (() => void)[] = [];
  #holding: ReturnType<typeof setTimeout> | null = null;

  #isHeld(message: decoding.Decoder): boolean {
    if (!this.#isUntimely) return false;
    const ahead = decoding.clone(message);
    if (decoding.readVarUint(ahead) === STEP1) return false;
    if (this.#held.length) return true;
    if (!this.#isUntimely(decoding.readVarUint8Array(ahead))) return false;
    this.#holding = setTimeout(() => this.#release(), HOLDING);
    return true;
  }

  #release(): void {
    if (this.#holding) clearTimeout(this.#holding);
    this.#isUntimely = null;
    for (const take of this.#held.splice(0)) take();
  }

  #connected(): void {
    this.#light.connected();
    if (this.#asked.length) this.#changed = true;
    this.#asked = [];
    // who rejoins with an unchanged state would stay unseen until its next change: say it anew
    this.awareness.setLocalState({ ...this.awareness.getLocalState() });
    this.#tell();
  }

  #disconnected(): void {
    this.#light.disconnected();
    this.#tell();
  }

  #synced(): void {
    this.#light.synced();
    if (!this.#light.unsaved) this.#emit("reached", Y.encodeStateVector(this.doc)); // all of it comes from the server
    this.#askSoon();
    if (!this.ready) {
      this.ready = true;
      this.#emit("ready", null);
    }
    this.#emit("synced", null);
    this.#tell();
  }

  #askSoon(): void {
    const now = Date.now();
    const since = this.#asking?.since ?? now;
    if (this.#asking) clearTimeout(this.#asking.timer);
    const wait = Math.min(QUIET, Math.max(0, since + AT_LATEST - now));
    this.#asking = { timer: setTimeout(() => this.#ask(), wait), since };
  }

  #ask(): void {
    if (this.#asking) clearTimeout(this.#asking.timer);
    this.#asking = null;
    const number = this.#light.ask(performance.now());
    if (number === null) return;
    if (this.#changed) this.#asked.push({ number, vector: Y.encodeStateVector(this.doc) });
    this.#changed = false;
    this.#send(BARRIER, (message) => encoding.writeVarUint(message, number));
  }

  /** The lease ends in a minute: hand in a new ticket. If that fails, the connection ends and the next attempt says why. */
  async #renew(): Promise<void> {
    const asking = this.provider.ws;
    try {
      const ticket = await this.#ticket();
      if (this.provider.ws === asking) this.#send(RENEWAL, (message) => encoding.writeVarString(message, ticket));
    } catch {
      return;
    }
  }

  #send(type: number, write: (message: encoding.Encoder) => void): void {
    const message = encoding.createEncoder();
    encoding.writeVarUint(message, type);
    write(message);
    this.provider.ws?.send(encoding.toUint8Array(message) as Uint8Array<ArrayBuffer>);
  }

  /** Give up a connection on which nobody answers; the provider's own watchdog would take 30 s. */
  #watch(): void {
    if (this.#light.isLost(performance.now())) this.#reconnect();
  }

  readonly #offline = (): void => this.#reconnect();
  #waking: ReturnType<typeof setTimeout> | null = null;

  /** What died in its sleep does not say so. */
  readonly #awake = (): void => {
    if (globalThis.document?.hidden) return;
    const { wsconnected, wsLastMessageReceived } = this.provider;
    if (!wsconnected) return this.#reconnect();
    this.#ask();
    if (this.#waking) clearTimeout(this.#waking);
    this.#waking = setTimeout(() => {
      if (this.provider.wsLastMessageReceived === wsLastMessageReceived) this.#reconnect();
    }, WAKING);
  };

  #reconnect(): void {
    if (!this.provider.shouldConnect) return;
    this.provider.disconnect();
    this.provider.connect();
  }

  #tell(): void {
    const shown = this.#light.shown;
    const said = JSON.stringify(shown);
    if (said === this.#told) return;
    this.#told = said;
    this.#emit("light", shown);
  }

  #emit<K extends keyof Events>(name: K, value: Events[K]): void {
    for (const listener of this.#listeners.get(name) ?? []) (listener as (value: Events[K]) => void)(value);
  }
}
