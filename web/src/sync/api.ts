/**
 * The HTTP API as the page uses it. Owns the requests, each with a proof of this device's key where it has one, and the shape
 * of failures; must never keep a secret.
 */

import { DeviceKey } from "./device_key";
import type { Where } from "./where";

export interface Task {
  id: string;
  name: string;
  status: "open" | "paused" | "done" | "archived";
  role: "viewer" | "commenter" | "editor" | "owner";
  created_at: string;
  updated_at: string;
  /** Who gave it its name; absent where the server is older. */
  named_by?: "none" | "agent" | "user";
}

/** A task that a new session may be about; `why` is a sentence for the person. `worked`: absent where the server is older. */
export interface Candidate {
  task: { id: string; name: string };
  score: number;
  why: string;
  worked?: boolean;
}

export type Begun = { id: string; candidates: Candidate[] };

/** An entry as the server reads it; what else it carries depends on its kind. */
export interface Item {
  id: string;
  text: string;
  status: string;
  severity?: string | null;
  kind?: string;
}

export interface Change extends Item {
  what: "added" | "edited" | "answered" | "retired" | "superseded" | "removed";
  by: string | null;
  device: string | null;
  agent: string | null;
  /** Whether it was the person who asks, on another device. */
  you: boolean;
  at: string | null;
}

/**
 * Where a task stands. `text` names all that it owes; `narrative` is an agent's own paragraph, null unless the server found it
 * true to the facts.
 */
export interface Resumption {
  task: Task;
  text: string;
  narrative: string | null;
  /** What a person wrote in last; absent where the server is older, as is `place`. */
  last_edit?: Change | null;
  /** Where this person was last, on whichever device. */
  place?: { where: Where; device: string | null; at: string } | null;
  facts: {
    constraints: Item[];
    decisions: Item[];
    questions: Item[];
    outputs: Item[];
    pending: Item[];
    next_steps: Item[];
    next_step: Item | null;
    changes: Change[];
    not_filed: Item[];
  };
}

/** One answer of an agent to what people said. */
export interface Turn {
  id: string;
  status: "queued" | "running" | "done" | "stopped" | "failed" | "expired";
  messages: string[];
  answer: string;
  user: Person;
  why: string | null;
}

/** One connection to one task, once, within 30 s. */
export interface Ticket {
  ticket: string;
  generation: number;
}

export interface Person {
  id: string;
  name: string;
}

/** Who is signed in, and the id of the device that this browser is. */
export interface Me extends Person {
  device: string | null;
  /** The language that they have chosen; null or absent where they have not, or the server is older. */
  language?: "en" | "zh" | null;
  /** False where they do not want to be asked what they were working on. */
  continuation?: boolean;
  /** Where this device was let in to one task alone: that task, and until when (ISO 8601). */
  visiting?: { task: string; until: string | null } | null;
}

/** One of the person's own devices; times are ISO 8601. */
export interface Device {
  id: string;
  name: string;
  kind: string;
  /** How far it proves that it is itself. */
  level: "none" | "software" | "hardware";
  /** Whether it is this one. */
  current: boolean;
  /** How many of its sessions are not over. */
  sessions: number;
  created_at: string;
  seen_at: string;
  /** One that came by a handoff has that one task, until then; absent where the server is older. */
  visiting?: { task: string; until: string } | null;
}

/** An address that signs in whoever opens it first; `qr` is it as rows of modules, "1" where they are dark. */
export interface Link {
  url: string;
  expires_at: string;
  qr: string[];
}

/** `until` (ISO 8601) ends a place; `link` is the share link that they came by. A guest was named by the server. */
export interface Member {
  user: string;
  name: string;
  role: Task["role"];
  until: string | null;
  over: boolean;
  link: string | null;
  guest: boolean;
}

/** RFC 9457, with the contract's seven codes; `status` 0 stands for "no answer at all". */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly why: string,
    /** Which rule it was, where the code does not say enough. */
    readonly reason?: string,
    /** Seconds after which it may be tried again, where the server says so. */
    readonly wait?: number,
  ) {
    super(why);
  }
}

/** A server that takes longer than this for an answer is not there: a frozen one would let the page wait for ever. */
const PATIENCE = 15_000;

export class Api {
  /** In which language the server's own sentences shall be. */
  language = "en";

  constructor(
    private readonly base = "/api/v1",
    private readonly fetch: typeof globalThis.fetch = (...a) => globalThis.fetch(...a),
    private readonly key = new DeviceKey(),
  ) {}

  /** Trade the one-time key of a sign-in link for this browser's cookie. */
  async signIn(key: string): Promise<void> {
    await this.enter("/signin", { key });
  }

  async me(): Promise<Me> {
    const { user, device, language, continuation, task, expires_at } = await this.ask<
      Pick<Me, "device" | "language" | "continuation"> & {
        user: Person;
        task?: string | null;
        expires_at?: string | null;
      }
    >("GET", "/me");
    const visiting = task ? { task, until: expires_at ?? null } : null;
    return { ...user, device, language: language ?? null, continuation: continuation !== false, visiting };
  }

  async tasks(): Promise<Task[]> {
    return (await this.listing()).tasks;
  }

  /** The person's tasks, and how many more there are that open elsewhere only. */
  async listing(): Promise<{ tasks: Task[]; withheld?: number }> {
    return await this.ask("GET", "/tasks");
  }

  async task(id: string): Promise<Task> {
    return await this.ask<Task>("GET", `/tasks/${encodeURIComponent(id)}`);
  }

  async newTask(name: string): Promise<Task> {
    return await this.ask<Task>("POST", "/tasks", name ? { name } : {});
  }

  async renameTask(id: string, name: string): Promise<void> {
    await this.ask("PATCH", `/tasks/${encodeURIComponent(id)}`, { name });
  }

  async setStatus(id: string, status: Task["status"]): Promise<Task> {
    return await this.ask<Task>("PATCH", `/tasks/${encodeURIComponent(id)}`, { status });
  }

  /** Where the task stands. It counts as this person's look at it, from which the next one's changes are told. */
  async resume(id: string): Promise<Resumption> {
    return await this.ask<Resumption>("GET", `/tasks/${encodeURIComponent(id)}/resume?lang=${this.language}`);
  }

  async newSession(): Promise<Begun> {
    return await this.ask<Begun>("POST", "/sessions", { framework: "web", lang: this.language });
  }

  /** Say which task the session is on, or `null` for none. */
  async attach(session: string, task: string | null): Promise<void> {
    await this.ask("PATCH", `/sessions/${encodeURIComponent(session)}`, { task_id: task });
  }

  /** Note where one is in a task. */
  async notePlace(session: string, task: string, where: Where): Promise<void> {
    await this.ask("PATCH", `/sessions/${encodeURIComponent(session)}`, { place: { task, where } });
  }

  /** The same, made ready: what this resolves to sends it at once, as a page that is being closed must. */
  async readyToNote(session: string, task: string): Promise<(where: Where) => void> {
    const path = `/sessions/${encodeURIComponent(session)}`;
    const proof = await this.key.proof("PATCH", this.base + path);
    return (where) => void this.fetchNow("PATCH", path, { place: { task, where } }, proof, { keepalive: true }).catch(() => undefined);
  }

  /** One connection to one task. Without a session it is a session of its own. */
  async ticket(task: string, session: string | null): Promise<Ticket> {
    return await this.ask<Ticket>("POST", `/tasks/${encodeURIComponent(task)}/tickets`, session ? { session } : {});
  }

  /** A task's turns, the latest first. */
  async turns(task: string): Promise<Turn[]> {
    return (await this.ask<{ turns: Turn[] }>("GET", `/tasks/${encodeURIComponent(task)}/turns`)).turns;
  }

  /** When this resolves, the agent writes not one character more. */
  async stop(turn: string): Promise<void> {
    await this.ask("POST", `/turns/${encodeURIComponent(turn)}/stop`, {});
  }

  async devices(): Promise<Device[]> {
    return (await this.ask<{ devices: Device[] }>("GET", "/devices")).devices;
  }

  /** The names of the person's own devices, by id. */
  async deviceNames(): Promise<Map<string, string>> {
    return new Map((await this.devices()).map(({ id, name }) => [id, name]));
  }

  async renameDevice(id: string, name: string): Promise<void> {
    await this.ask("PATCH", `/devices/${encodeURIComponent(id)}`, { name });
  }

  /** Sign a device out, wherever it is: all that it opened is closed at once. */
  async revokeDevice(id: string): Promise<void> {
    await this.ask("DELETE", `/devices/${encodeURIComponent(id)}`);
  }

  async newLink(): Promise<Link> {
    return await this.ask<Link>("POST", "/links");
  }

  async members(task: string): Promise<Member[]> {
    return (await this.ask<{ members: Member[] }>("GET", `/tasks/${encodeURIComponent(task)}/members`)).members;
  }

  /** Put somebody on a task, by name. */
  async addMember(task: string, user: string, role: Member["role"]): Promise<void> {
    await this.ask("POST", `/tasks/${encodeURIComponent(task)}/members`, { user, role });
  }

  async setRole(task: string, user: string, role: Member["role"]): Promise<void> {
    await this.ask("PATCH", `/tasks/${encodeURIComponent(task)}/members/${encodeURIComponent(user)}`, { role });
  }

  /** Take somebody off a task, or leave it. */
  async removeMember(task: string, user: string): Promise<void> {
    await this.ask("DELETE", `/tasks/${encodeURIComponent(task)}/members/${encodeURIComponent(user)}`);
  }

  /** On which device each of the person's own sessions is or was. */
  async sessions(): Promise<Map<string, string>> {
    const { sessions } = await this.ask<{ sessions: { id: string; device: string | null }[] }>("GET", "/sessions?limit=500");
    return new Map(sessions.flatMap(({ id, device }) => (device ? [[id, device]] : [])));
  }

  async signOut(): Promise<void> {
    await this.ask("POST", "/signout");
    await this.key.forget();
  }

  /** The task as a file. It is fetched, for a link could not prove whose browser it is. */
  async exportFile(task: string, format: string): Promise<{ name: string; content: Blob }> {
    const answer = await this.send("GET", `/tasks/${encodeURIComponent(task)}/export?format=${format}`);
    if (!answer.ok) throw problemOf(answer, await textOf(answer));
    const content = await answer.blob().catch(() => {
      throw new Problem(0, "unavailable", "The file did not come through.");
    });
    return { name: fileName(answer.headers.get("content-disposition")) ?? `task.${format}`, content };
  }

  /** Begin a sign-in that goes on elsewhere, with this browser's key, as below; `anew`: with another than the one that is here. */
  async begin<T>(path: string, body: unknown, anew = false): Promise<T> {
    await (anew ? this.key.renew() : this.key.ensure());
    return await this.ask<T>("POST", path, body);
  }

  /**
   * Sign in: whatever is asked for, with this browser's key, which becomes the device's. Where another person has signed in
   * here with it, a new one is made.
   */
  async enter<T extends { user: { id: string } }>(path: string, body: unknown): Promise<T> {
    await this.key.ensure();
    let entered: T;
    try {
      entered = await this.ask<T>("POST", path, body);
    } catch (error) {
      if (!(error instanceof Problem) || error.reason !== "another_key") throw error;
      await this.key.renew();
      entered = await this.ask<T>("POST", path, body);
    }
    await this.key.claim(entered.user.id);
    return entered;
  }

  async ask<T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<T> {
    const answer = await this.send(method, path, body, more);
    const text = await textOf(answer);
    if (!answer.ok) throw problemOf(answer, text);
    return parse(text) as T;
  }

  /** One request, tried once more where the server wants it proven anew. */
  private async send(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Response> {
    try {
      const answer = await this.sendOnce(method, path, body, more);
      return this.key.hear(answer) ? await this.sendOnce(method, path, body, more) : answer;
    } catch {
      throw new Problem(0, "unavailable", "The server cannot be reached.");
    }
  }

  private async sendOnce(method: string, path: string, body: unknown, headers: Record<string, string>): Promise<Response> {
    const proof = await this.key.proof(method, this.base + path);
    return await this.fetchNow(method, path, body, proof, { headers, signal: AbortSignal.timeout(PATIENCE) });
  }

  private fetchNow(method: string, path: string, body: unknown, proof: string | null, how: RequestInit): Promise<Response> {
    const headers: Record<string, string> = { "accept-language": this.language, ...(how.headers as Record<string, string>) };
    const init: RequestInit = { ...how, method, headers, credentials: "same-origin", cache: "no-store" };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    if (proof) headers["dpop"] = proof;
    return this.fetch(this.base + path, init);
  }
}

function textOf(answer: Response): Promise<string> {
  return answer.text().catch(() => "");
}

function problemOf(answer: Response, text: string): Problem {
  const { code, detail, title, reason } = (parse(text) ?? {}) as Record<string, string | undefined>;
  const why = detail ?? title ?? `The server answered ${answer.status}.`;
  const wait = Number(answer.headers.get("retry-after") ?? NaN);
  return new Problem(answer.status, code ?? "unavailable", why, reason, Number.isFinite(wait) ? wait : undefined);
}

/** The name for people of a Content-Disposition (RFC 6266). */
function fileName(disposition: string | null): string | null {
  const found = /filename\*=UTF-8''([^;]+)/.exec(disposition ?? "")?.[1];
  try {
    return found ? decodeURIComponent(found) : null;
  } catch {
    return null;
  }
}

function parse(text: string): unknown {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
