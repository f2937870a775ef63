/** Who may open a task and how, as the page uses it: its policy, its members' ends, its share links. Owns the requests alone. */

import type { Api, Member, Task } from "./api";

export interface Policy {
  resume: "owner" | "members";
  device: "any" | "registered" | "bound";
  confirm: "none" | "number-match" | "passkey";
}

/** A link without its secret; times are ISO 8601. `open`: somebody may still come in by it. */
export interface Share {
  id: string;
  role: Task["role"];
  open: boolean;
  uses: number;
  most_uses: number;
  sign_in: boolean;
  registered: boolean;
  expires_at: string;
  used_at: string | null;
}

export interface NewShare {
  role: Exclude<Task["role"], "owner">;
  /** Seconds. */
  ttl: number;
  uses: number;
  sign_in: boolean;
  registered: boolean;
}

/** Where a link led; not `fresh` where one was on the task already. */
export interface Joined {
  task: string;
  role: Task["role"];
  fresh: boolean;
  user: { id: string; name: string };
}

export class Access {
  constructor(
    private readonly api: Api,
    private readonly task = "",
  ) {}

  async policy(): Promise<Policy> {
    return await this.api.ask<Policy>("GET", this.#path("policy"));
  }

  /** `isSure`: also where this closes the task to this very device. */
  async setPolicy(policy: Policy, isSure: boolean): Promise<void> {
    await this.api.ask("PUT", this.#path("policy"), { ...policy, confirm_lockout: isSure });
  }

  /** When a member's place ends; `null` for never. */
  async setEnd(user: string, until: Date | null): Promise<Member> {
    return await this.api.ask<Member>("PATCH", this.#path(`members/${encodeURIComponent(user)}`), {
      until: until?.toISOString() ?? null,
    });
  }

  async shares(): Promise<Share[]> {
    return (await this.api.ask<{ shares: Share[] }>("GET", this.#path("shares"))).shares;
  }

  /** A new link's address, which is shown this once. */
  async share(wanted: NewShare): Promise<string> {
    return (await this.api.ask<{ url: string }>("POST", this.#path("shares"), wanted)).url;
  }

  async withdraw(share: string): Promise<void> {
    await this.api.ask("DELETE", this.#path(`shares/${encodeURIComponent(share)}`));
  }

  /** Come in by a link: as whoever is signed in here, else as a guest. */
  async redeem(id: string, secret: string): Promise<Joined> {
    return await this.api.enter<Joined>("/shares/redeem", { id, secret });
  }

  #path(rest: string): string {
    return `/tasks/${encodeURIComponent(this.task)}/${rest}`;
  }
}
