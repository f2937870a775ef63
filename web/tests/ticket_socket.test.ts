import { describe, expect, test, vi } from "vitest";

import { Api, Problem } from "../src/sync/api";
import { closeCodeOf, TicketSocket, type End } from "../src/sync/ticket_socket";

class Wire {
  static made: Wire[] = [];
  readyState = 0;
  binaryType = "blob";
  onopen: ((event: unknown) => void) | null = null;
  onclose: ((end: End) => void) | null = null;
  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    Wire.made.push(this);
  }
  close(code = 1005): void {
    this.onclose?.({ code, reason: "" });
  }
}

function open(ticket: () => Promise<string>): { socket: TicketSocket; ended: End[] } {
  Wire.made = [];
  const ended: End[] = [];
  const socket = new TicketSocket("ws://host/sync/1", ticket, Wire as unknown as typeof WebSocket);
  socket.onclose = (end) => ended.push(end);
  return { socket, ended };
}

describe("a socket with a ticket", () => {
  test("offers the ticket as a subprotocol and never in the address", async () => {
    const { socket } = open(() => Promise.resolve("s3cret"));
    expect(socket.readyState).toBe(socket.CONNECTING);
    await vi.waitFor(() => expect(Wire.made.length).toBe(1));
    expect(Wire.made[0]).toMatchObject({ url: "ws://host/sync/1", protocols: ["clew.v1", "ticket.s3cret"], binaryType: "arraybuffer" });
  });

  test("that was closed before its ticket came is never opened", async () => {
    let give = (_: string): void => undefined;
    const { socket, ended } = open(() => new Promise((resolve) => (give = resolve)));
    socket.close();
    give("late");
    await Promise.resolve();
    expect(Wire.made).toEqual([]);
    expect(ended).toEqual([{ code: 1000, reason: "" }]);
    expect(socket.readyState).toBe(socket.CLOSED);
  });

  test.each([
    [401, "unauthenticated", 4401],
    [403, "forbidden", 4403],
    [404, "not_found", 4404],
    [503, "unavailable", 1006],
    [0, "unavailable", 1006],
  ])("that is refused its ticket with %i %s ends with %i", async (status, code, close) => {
    const { ended } = open(() => Promise.reject(new Problem(status, code, "why")));
    await vi.waitFor(() => expect(ended).toEqual([{ code: close, reason: "why" }]));
  });

  test.each([
    [29_000, 4401],
    [31_000, 4501],
  ])("that is closed 4401 after %i ms ends with %i: who was let in asks for another ticket", async (life, code) => {
    const { ended } = open(() => Promise.resolve("t"));
    await vi.waitFor(() => expect(Wire.made.length).toBe(1));
    vi.useFakeTimers();
    Wire.made[0]!.onopen?.({});
    vi.advanceTimersByTime(life);
    Wire.made[0]!.close(4401);
    vi.useRealTimers();
    expect(ended).toEqual([{ code, reason: "" }]);
  });

  test("that is refused once is tried once more, and not for ever", async () => {
    const patience = { left: 1 };
    const codes: number[] = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      Wire.made = [];
      const socket = new TicketSocket("ws://host/sync/1", () => Promise.resolve("t"), Wire as unknown as typeof WebSocket, patience);
      socket.onclose = ({ code }) => codes.push(code);
      await vi.waitFor(() => expect(Wire.made.length).toBe(1));
      Wire.made[0]!.close(4401);
    }
    expect(codes).toEqual([4501, 4401, 4401]);
  });

  test("ends once, whatever happens twice", async () => {
    const { socket, ended } = open(() => Promise.resolve("t"));
    await vi.waitFor(() => expect(Wire.made.length).toBe(1));
    socket.close();
    Wire.made[0]!.close();
    expect(ended).toEqual([{ code: 1005, reason: "" }]);
  });
});

test("an error that is no answer of the server is worth another attempt", () => {
  expect(closeCodeOf(new TypeError("bug")).code).toBe(1006);
});

describe("the API", () => {
  const answering = (status: number, body: string): Api => new Api("/api/v1", () => Promise.resolve(new Response(body, { status })));

  test("tells a problem by its code and its sentence", async () => {
    const problem = JSON.stringify({ code: "not_found", title: "Not found", detail: "There is no such thing here." });
    await expect(answering(404, problem).task("x")).rejects.toMatchObject({ status: 404, code: "not_found", why: "There is no such thing here." });
  });

  test("survives an answer that is not JSON", async () => {
    await expect(answering(502, "<h1>Bad gateway</h1>").tasks()).rejects.toMatchObject({ status: 502, code: "unavailable" });
  });

  test("calls no answer at all by a status of 0", async () => {
    const api = new Api("/api/v1", () => Promise.reject(new TypeError("Failed to fetch")));
    await expect(api.me()).rejects.toMatchObject({ status: 0, code: "unavailable" });
  });
});
