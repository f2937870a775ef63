/** The HTTP API as the page uses it. Owns the requests and the shape of failures; must never keep a secret. */

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

/** A task that a new session may be about; `why` is a sentence for the person. */
export interface Candidate {
  task: { id: string; name: string };
  score: number;
  why: string;
}

export interface Begun {
  id: string;
  candidates: Candidate[];
}

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
}

/** One of the person's own devices; times are ISO 8601. */
export interface Device {
  id: string;
  name: string;
  /** Whether it is this one. */
  current: boolean;
  created_at: string;
  seen_at: string;
}

/** An address that signs in whoever opens it first; `qr` is it as rows of modules, "1" where they are dark. */
export interface Link {
  url: string;
  expires_at: string;
  qr: string[];
}

export interface Member {
  user: string;
  name: string;
  role: Task["role"];
}

/** RFC 9457, with the contract's seven codes; `status` 0 stands for "no answer at all". */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly why: string,
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
  ) {}

  /** Trade the one-time key of a sign-in link for this browser's cookie. */
  async signIn(key: string): Promise<void> {
    await this.ask("POST", "/signin", { key });
  }

  async me(): Promise<Me> {
    const { user, device } = await this.ask<{ user: Person; device: string | null }>("GET", "/me");
    return { ...user, device };
  }

  async tasks(): Promise<Task[]> {
    return (await this.ask<{ tasks: Task[] }>("GET", "/tasks")).tasks;
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
    return await this.ask<Begun>("POST", "/sessions", { framework: "web" });
  }

  /** Say which task the session is on, or `null` for none. */
  async attach(session: string, task: string | null): Promise<void> {
    await this.ask("PATCH", `/sessions/${encodeURIComponent(session)}`, { task_id: task });
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
  }

  private async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { "accept-language": this.language };
    const init: RequestInit = {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    let answer: Response;
    try {
      answer = await this.fetch(this.base + path, init);
    } catch {
      throw new Problem(0, "unavailable", "The server cannot be reached.");
    }
    const text = await answer.text().catch(() => "");
    const value = parse(text);
    if (answer.ok) return value as T;
    const { code, detail, title } = (value ?? {}) as Record<string, string | undefined>;
    throw new Problem(answer.status, code ?? "unavailable", detail ?? title ?? `The server answered ${answer.status}.`);
  }
}

function parse(text: string): unknown {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}
