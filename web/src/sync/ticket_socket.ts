/**
 * A WebSocket that fetches a ticket before each attempt. y-websocket makes a new socket with the same protocols at every
 * reconnect, and a ticket opens one connection, once. Owns the ticket between the two; must never put it into an address.
 */

import { Problem } from "./api";

/** What a failed ticket request stands for on the wire: 4400-4499 end y-websocket's retries, the rest invite one. */
export function closeCodeOf(error: unknown): { code: number; reason: string } {
  if (!(error instanceof Problem)) return { code: 1006, reason: "" };
  const codes: Record<number, number> = { 401: 4401, 403: 4403, 404: 4404 };
  return { code: codes[error.status] ?? 1006, reason: error.reason ?? error.why };
}

/** The contract's code for a stale lease, which is worth another attempt. */
const LEASE_ENDED = 4501;
/** Who is told 4401 within this time was never let in. */
const SOON = 30_000;

type Handler<E> = ((event: E) => void) | null;

/** How many refusals of a ticket are still taken for bad luck: a network may go by IPv6 for the one and by IPv4 for the other. */
export interface Patience {
  left: number;
}

export interface End {
  code: number;
  reason: string;
}

/** As much of the WebSocket interface as y-websocket uses. */
export class TicketSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly CONNECTING = 0;
  readonly OPEN = 1;
  readonly CLOSING = 2;
  readonly CLOSED = 3;

  binaryType: BinaryType = "arraybuffer";
  onopen: Handler<Event> = null;
  onclose: Handler<End> = null;
  onerror: Handler<Event> = null;
  onmessage: Handler<MessageEvent> = null;

  #socket: WebSocket | null = null;
  #ended = false;
  #openedAt = Infinity;

  constructor(
    private readonly url: string,
    ticket: () => Promise<string>,
    private readonly Socket: typeof WebSocket = WebSocket,
    private readonly patience: Patience = { left: 0 },
  ) {
    ticket().then(
      (secret) => this.#open(secret),
      (error: unknown) => this.#end(closeCodeOf(error)),
    );
  }

  get readyState(): number {
    if (this.#ended) return this.CLOSED;
    return this.#socket?.readyState ?? this.CONNECTING;
  }

  send(data: Uint8Array<ArrayBuffer> | ArrayBuffer): void {
    this.#socket?.send(data);
  }

  close(code?: number): void {
    if (this.#socket) this.#socket.close(code);
    else this.#end({ code: 1000, reason: "" });
  }

  #open(secret: string): void {
    if (this.#ended) return;
    const socket = new this.Socket(this.url, ["clew.v1", `ticket.${secret}`]);
    socket.binaryType = this.binaryType;
    socket.onopen = (event) => {
      this.#openedAt = Date.now();
      this.onopen?.(event);
    };
    socket.onmessage = (event) => {
      this.patience.left = 1;
      this.onmessage?.(event);
    };
    socket.onerror = (event) => this.onerror?.(event);
    socket.onclose = ({ code, reason }) => {
      const isWorthAnother = code === 4401 && (this.#wasTaken() || this.patience.left-- > 0);
      this.#end({ code: isWorthAnother ? LEASE_ENDED : code, reason });
    };
    this.#socket = socket;
  }

  /** Whether the ticket was good: then 4401 ends a lease, not a sign-in, and the next ticket's request tells which. */
  #wasTaken(): boolean {
    return Date.now() - this.#openedAt > SOON;
  }

  #end(end: End): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onclose?.(end);
  }
}

/** The class that y-websocket is given as its `WebSocketPolyfill`. */
export function ticketSocketClass(ticket: () => Promise<string>): typeof WebSocket {
  const patience = { left: 1 };
  class Ticketed extends TicketSocket {
    constructor(url: string) {
      super(url, ticket, WebSocket, patience);
    }
  }
  return Ticketed as unknown as typeof WebSocket;
}
