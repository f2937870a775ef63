/** The HTTP API as the page uses it. Owns the requests and the shape of failures; must never keep a secret. */

export interface Task {
  id: string;
  name: string;
  status: "open" | "paused" | "done" | "archived";
  role: "viewer" | "commenter" | "editor" | "owner";
  created_at: string;
  updated_at: string;
}

export interface Person {
  id: string;
  name: string;
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

export class Api {
  constructor(
    private readonly base = "/api/v1",
    private readonly fetch: typeof globalThis.fetch = (...a) => globalThis.fetch(...a),
  ) {}

  /** Trade the one-time key of a sign-in link for this browser's cookie. */
  async signIn(key: string): Promise<void> {
    await this.ask("POST", "/signin", { key });
  }

  async me(): Promise<Person> {
    return (await this.ask<{ user: Person }>("GET", "/me")).user;
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

  async newSession(): Promise<string> {
    return (await this.ask<{ id: string }>("POST", "/sessions", { framework: "web" })).id;
  }

  /** Say which task the session is on, or `null` for none. */
  async attach(session: string, task: string | null): Promise<void> {
    await this.ask("PATCH", `/sessions/${encodeURIComponent(session)}`, { task_id: task });
  }

  /** One connection to one task, once, within 30 s. */
  async ticket(task: string, session: string | null): Promise<string> {
    const body = session ? { session } : {};
    return (await this.ask<{ ticket: string }>("POST", `/tasks/${encodeURIComponent(task)}/tickets`, body)).ticket;
  }

  private async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method, credentials: "same-origin", cache: "no-store" };
    if (body !== undefined) {
      init.headers = { "content-type": "application/json" };
      init.body = JSON.stringify(body);
    }
    let answer: Response;
    try {
      answer = await this.fetch(this.base + path, init);
    } catch {
      throw new Problem(0, "unavailable", "The server cannot be reached.");
    }
    const text = await answer.text();
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
