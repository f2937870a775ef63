/**
 * The server's side of one connection, in memory: sync, presence, barriers, refusals. It answers only when it is not
 * frozen, and holds what came meanwhile, as a stopped process does.
 */

import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import * as sync from "y-protocols/sync";
import * as Y from "yjs";

export class MemoryServer {
  readonly doc = new Y.Doc();
  readonly sockets: MemorySocket[] = [];
  frozen = false;
  refusing: string | null = null;
  #held: (() => void)[] = [];

  /** The class to hand to a provider. */
  get Socket(): typeof WebSocket {
    const server = this;
    return class extends MemorySocket {
      constructor() {
        super(server);
      }
    } as unknown as typeof WebSocket;
  }

  thaw(): void {
    this.frozen = false;
    this.#held.splice(0).forEach((one) => one());
  }

  later(what: () => void): void {
    if (this.frozen) this.#held.push(what);
    else what();
  }
}

export class MemorySocket {
  readonly OPEN = 1;
  readyState = 0;
  binaryType = "arraybuffer";
  onopen: ((event: unknown) => void) | null = null;
  onclose: ((end: { code: number; reason: string }) => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  readonly barriers: number[] = [];
  readonly renewals: string[] = [];

  constructor(private readonly server: MemoryServer) {
    server.sockets.push(this);
    queueMicrotask(() =>
      server.later(() => {
        if (this.readyState !== 0) return;
        this.readyState = 1;
        this.onopen?.({});
        this.#send((out) => {
          encoding.writeVarUint(out, 0);
          sync.writeSyncStep1(out, server.doc);
        });
      }),
    );
  }

  send(data: Uint8Array): void {
    const frame = data.slice();
    queueMicrotask(() => this.server.later(() => this.#hear(frame)));
  }

  askRenewal(): void {
    this.#send((out) => {
      encoding.writeVarUint(out, 102);
      encoding.writeVarString(out, "");
    });
  }

  close(code = 1005, reason = ""): void {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }

  #hear(frame: Uint8Array): void {
    if (this.readyState !== 1) return;
    const message = decoding.createDecoder(frame);
    const type = decoding.readVarUint(message);
    if (type === 0) this.#sync(message);
    if (type === 102) this.renewals.push(decoding.readVarString(message));
    if (type === 100) {
      const number = decoding.readVarUint(message);
      this.barriers.push(number);
      this.#send((out) => {
        encoding.writeVarUint(out, 100);
        encoding.writeVarUint(out, number);
      });
    }
  }

  #sync(message: decoding.Decoder): void {
    const why = this.server.refusing;
    if (why !== null && message.arr[message.pos] === sync.messageYjsUpdate) {
      this.#send((out) => {
        encoding.writeVarUint(out, 101);
        encoding.writeVarUint(out, 4403);
        encoding.writeVarString(out, why);
      });
      return;
    }
    this.#send((out) => {
      encoding.writeVarUint(out, 0);
      sync.readSyncMessage(message, out, this.server.doc, this);
    });
  }

  #send(write: (out: encoding.Encoder) => void): void {
    const out = encoding.createEncoder();
    write(out);
    if (encoding.length(out) < 2) return;
    const data = encoding.toUint8Array(out);
    queueMicrotask(() => this.onmessage?.({ data: data.slice().buffer }));
  }
}
