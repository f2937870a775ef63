/** One's account, the ways in, passkeys, invitations and the programs that ask, as the page uses them. Owns the requests alone. */

import type { Api, Link } from "./api";

/** How one may sign in here, beside a link. */
export interface Ways {
  passkeys: boolean;
  /** What people know the organisation by; null where there is none. */
  organisation: string | null;
  proxy: boolean;
}

export interface Account {
  id: string;
  name: string;
  /** Null where it is left to the browser. */
  language: "en" | "zh" | null;
  plan: string;
  /** Whether this server is theirs, so that they may invite. */
  owner: boolean;
  organisations: string[];
  preferences: { continuation?: boolean };
}

/** Times are ISO 8601. `synced`: it is kept on the person's other devices, too. */
export interface Passkey {
  id: string;
  name: string;
  synced: boolean;
  created_at: string;
  used_at: string | null;
}

export interface Invitation {
  id: string;
  created_at: string;
  expires_at: string;
}

/** What a program asks for that shows a code; `ttl` and `expires_in` are seconds. */
export interface Asking {
  client: string;
  agent: string | null;
  role: "viewer" | "commenter" | "editor" | "owner";
  ttl: number;
  expires_in: number;
}

/** What erasing oneself touches, or has touched; `left` are sentences on what can't be reached. */
export interface Erasure {
  done: boolean;
  private: number;
  shared: number;
  left: string[];
}

export type Json = Record<string, unknown>;

export class Accounts {
  constructor(private readonly api: Api) {}

  async ways(): Promise<Ways> {
    return await this.api.ask<Ways>("GET", "/signin/ways");
  }

  async enterByProxy(): Promise<void> {
    await this.api.enter("/signin/proxy", {});
  }

  /** Where to go on to sign in by way of the organisation; `anew`: by a key that is not another person's. */
  async organisation(invitation?: string, anew = false): Promise<string> {
    const body = invitation ? { invitation } : {};
    return (await this.api.begin<{ url: string }>("/oidc", body, anew)).url;
  }

  /** The same for who is in, to have one more way in. */
  async addOrganisation(): Promise<string> {
    return (await this.api.ask<{ url: string }>("POST", "/oidc/add", {})).url;
  }

  async account(): Promise<Account> {
    return await this.api.ask<Account>("GET", "/me/account");
  }

  async change(change: { name?: string; language?: "en" | "zh" | "auto"; preferences?: Account["preferences"] }): Promise<Account> {
    return await this.api.ask<Account>("PATCH", "/me/account", change);
  }

  async passkeys(): Promise<Passkey[]> {
    return (await this.api.ask<{ passkeys: Passkey[] }>("GET", "/passkeys")).passkeys;
  }

  /** What a ceremony begins with: making a passkey, coming in by one, showing that it is oneself. */
  async options(of: "/passkeys" | "/signin/passkey" | "/passkeys/proof"): Promise<Json> {
    return (await this.api.ask<{ options: Json }>("POST", `${of}/options`, {})).options;
  }

  async addPasskey(credential: Json): Promise<Passkey> {
    return await this.api.ask<Passkey>("POST", "/passkeys", { credential });
  }

  async enterByPasskey(credential: Json): Promise<void> {
    await this.api.enter("/signin/passkey", { credential });
  }

  async prove(credential: Json): Promise<void> {
    await this.api.ask("POST", "/passkeys/proof", { credential });
  }

  async renamePasskey(id: string, name: string): Promise<void> {
    await this.api.ask("PATCH", `/passkeys/${encodeURIComponent(id)}`, { name });
  }

  async removePasskey(id: string): Promise<void> {
    await this.api.ask("DELETE", `/passkeys/${encodeURIComponent(id)}`);
  }

  /** All that the server has of the person, as JSON; the ticket for it is good once. */
  async everything(): Promise<unknown> {
    const { ticket } = await this.api.ask<{ ticket: string }>("POST", "/me/export", {});
    return await this.api.ask<unknown>("GET", "/me/export", undefined, { "clew-export": ticket });
  }

  /** Erase the person for good, or say what that would touch. `texts`: also their words in others' tasks. */
  async erase(wish: { confirm: string; texts: boolean; dry_run: boolean }): Promise<Erasure> {
    return await this.api.ask<Erasure>("POST", "/me/erase", wish);
  }

  async invitations(): Promise<Invitation[]> {
    return (await this.api.ask<{ invitations: Invitation[] }>("GET", "/invitations")).invitations;
  }

  async invite(): Promise<Link> {
    return await this.api.ask<Link>("POST", "/invitations", {});
  }

  async takeBack(id: string): Promise<void> {
    await this.api.ask("DELETE", `/invitations/${encodeURIComponent(id)}`);
  }

  /** Whether an invitation can be used; asking does not use it. */
  async isGood(secret: string): Promise<boolean> {
    return (await this.api.ask<{ good: boolean }>("POST", "/invitations/check", { secret })).good;
  }

  async accept(secret: string, name: string): Promise<void> {
    await this.api.enter("/invitations/accept", { secret, name });
  }

  async asking(code: string): Promise<Asking> {
    return await this.api.ask<Asking>("POST", "/device/look", { code });
  }

  async decide(
    code: string,
    verdict: "approve" | "decline",
    bounds: { role: Asking["role"]; ttl: number; task: string | null },
  ): Promise<void> {
    await this.api.ask("POST", "/device/decide", { code, verdict, ...bounds });
  }
}
