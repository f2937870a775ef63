/** Handing a task to another device, as the page asks the server for it. Owns the shapes; must never keep a code. */

import { Problem, type Api } from "./api";

/** What the task's plain address is; it lets nobody in. `qr` is it as rows of modules, "1" where they are dark. */
export interface Address {
  url: string;
  qr: string[];
}

/** An offer to a device that is new: a QR code's address, or a code to type. Times are ISO 8601. */
export interface Offered {
  id: string;
  expires_at: string;
  role: string;
  until: string;
  url: string | null;
  qr: string[] | null;
  code: string | null;
}

/** The device that presented the code. */
export interface Claim {
  name: string;
  kind: string;
  same_network: boolean | null;
  numbers: number[];
}

export interface Standing {
  state: "offered" | "claimed" | "approved" | "collected" | "ended";
  why: string | null;
  expires_at: string;
  task: string;
  role: string;
  until: string;
  claim: Claim | null;
  device: string | null;
}

/** What a new device shows of a code: a QR code's id and secret, or what somebody typed. */
export type Presented = { id: string; secret: string } | { code: string };

/** The number to show while one waits, or, where this browser is signed in already, the task. */
export interface Redeemed {
  id: string;
  claim: string;
  number: number;
  device: string;
  expires_at: string;
  task?: string;
}

export class Handoffs {
  constructor(private readonly api: Api) {}

  async address(task: string): Promise<Address> {
    return await this.api.ask<Address>("GET", `/tasks/${task}/address`);
  }

  async offer(task: string, how: "qr" | "code", session: string | null): Promise<Offered> {
    return await this.api.ask<Offered>("POST", "/handoffs", { task, how, session });
  }

  async look(id: string, session: string | null): Promise<Standing> {
    return await this.api.ask<Standing>("GET", `/handoffs/${id}${session ? `?session=${session}` : ""}`);
  }

  async approve(id: string, number: number, session: string | null): Promise<Standing> {
    return await this.api.ask<Standing>("POST", `/handoffs/${id}/approve`, { number, session });
  }

  async decline(id: string): Promise<void> {
    await this.api.ask("POST", `/handoffs/${id}/decline`);
  }

  /** Offer and be asked nothing for an hour; until when. */
  async pause(): Promise<string> {
    return (await this.api.ask<{ until: string }>("POST", "/handoffs/pause")).until;
  }

  async resume(): Promise<void> {
    await this.api.ask("DELETE", "/handoffs/pause");
  }

  /** Let a device that has one task have all of them, for good. */
  async keep(device: string): Promise<void> {
    await this.api.ask("POST", `/devices/${device}/keep`);
  }

  /** Present a code, with this browser's key. */
  async redeem(presented: Presented): Promise<Redeemed> {
    try {
      return await this.api.begin<Redeemed>("/handoffs/redeem", presented);
    } catch (error) {
      if (!(error instanceof Problem) || error.reason !== "another_key") throw error;
      return await this.api.begin<Redeemed>("/handoffs/redeem", presented, true);
    }
  }

  /** Whether one was let in; this browser is signed in then. */
  async collect({ id, claim }: Redeemed): Promise<boolean> {
    return "user" in (await this.api.ask<object>("POST", "/handoffs/collect", { id, claim }));
  }
}
