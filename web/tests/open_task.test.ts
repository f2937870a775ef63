// @vitest-environment happy-dom
import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as Y from "yjs";

import * as entries from "../src/doc/entries";
import { readLedger } from "../src/doc/ledger";
import { putBack } from "../src/doc/unsent";
import { Problem, type Api, type Task } from "../src/sync/api";
import { OpenTask } from "../src/sync/open_task";
import type { Session } from "../src/sync/session";
import { Shelf } from "../src/sync/shelf";
import { unsentIn } from "../src/sync/unsent_words";
import { MemoryServer } from "./kit_server";

const me = { id: "u1", name: "Ann", device: null };
const task = "t1";
const known: Task = { id: task, name: "Acme", status: "open", role: "owner", created_at: "", updated_at: "" };

let server: MemoryServer;
let generation: number;
let isAway: boolean;
let opened: OpenTask[];

const api = {
  task: async () => (isAway ? Promise.reject(new Problem(0, "unavailable", "away")) : known),
  ticket: async () => (isAway ? Promise.reject(new Problem(0, "unavailable", "away")) : { ticket: "t", generation }),
} as unknown as Api;
const session = { id: "s", attach: async () => undefined } as unknown as Session;

/** What a server has that was restored to how it was `before`, or a fresh one: the seed of schema 1. */
function serve(words = "", before?: Uint8Array): void {
  server = new MemoryServer();
  if (before) Y.applyUpdate(server.doc, before);
  else {
    server.doc.getMap("meta").set("schema", 1);
    server.doc.getMap("meta").set("goal", new Y.Text());
  }
  if (words) entries.addConstraint(server.doc, words, "normal", { name: "Wei" });
  vi.stubGlobal("WebSocket", server.Socket);
}

async function open(): Promise<OpenTask> {
  const it = await OpenTask.open({ api, session, shelf: new Shelf(me), task, server: "ws://host" });
  opened.push(it);
  return it;
}

const light = (it: OpenTask, kind: string): Promise<void> =>
  vi.waitFor(() => expect(it.sync.light.kind).toBe(kind), { timeout: 4_000 });
const constraints = (doc: Y.Doc): string[] => readLedger(doc).constraints.map((one) => one.text);
const say = (it: OpenTask, words: string): string => entries.addConstraint(it.sync.doc, words, "normal", me);
const kept = (it: OpenTask): Promise<void> => vi.waitFor(() => expect(it.keeping).toBe("kept"));

beforeEach(() => {
  localStorage.clear();
  opened = [];
  generation = 1;
  isAway = false;
  serve("the server's");
});

afterEach(async () => {
  opened.forEach((it) => it.close());
  await new Shelf(me).clear();
  vi.unstubAllGlobals();
});

test("a task that was open here opens without the server, and what is written then goes out when it is back", async () => {
  const first = await open();
  await light(first, "saved");
  await kept(first);
  first.close();

  isAway = true;
  const again = await open();
  expect(again.sync.ready).toBe(true);
  expect(constraints(again.sync.doc)).toEqual(["the server's"]);
  say(again, "offline");
  await kept(again);
  expect(again.wouldLose).toBe(false);
  again.close();

  const third = await open();
  expect(constraints(third.sync.doc)).toContain("offline");
  await light(third, "offline");
  expect(third.sync.light).toEqual({ kind: "offline", unsaved: true });
  isAway = false;
  third.sync.retry();
  await light(third, "saved");
  expect(constraints(server.doc)).toContain("offline");
});

test("a task that was never open here does not open without the server", async () => {
  isAway = true;
  await expect(open()).rejects.toMatchObject({ code: "unavailable" });
});

test("an older generation is never sent; a fresh document is opened and what it lacks is offered", async () => {
  const before = Y.encodeStateAsUpdate(server.doc);
  const first = await open();
  await light(first, "saved");
  say(first, "confirmed, and lost by the server");
  await light(first, "saved");
  isAway = true;
  server.sockets.at(-1)!.close(1006);
  await light(first, "offline");
  say(first, "never sent");
  await kept(first);

  generation = 2;
  serve("restored", before);
  isAway = false;
  first.sync.retry();
  await vi.waitFor(() => expect(first.offers.length).toBe(1), { timeout: 4_000 });
  expect(constraints(first.sync.doc).sort()).toEqual(["restored", "the server's"]);
  expect(constraints(server.doc).sort()).toEqual(["restored", "the server's"]);
  const [offer] = first.offers;
  expect(offer!.why).toBe("older");
  expect(offer!.lost.map((one) => one.text).sort()).toEqual(["confirmed, and lost by the server", "never sent"]);
  expect(await unsentIn(new Shelf(me))).toBe("never sent"); // who signs out now is shown it

  putBack(first.sync.doc, offer!.lost, "Kept here");
  first.settle(offer!);
  await light(first, "saved");
  expect(constraints(server.doc).sort()).toEqual([
    "confirmed, and lost by the server",
    "never sent",
    "restored",
    "the server's",
  ]);
});

test("what an older generation had and nobody kept on a device that was closed is offered when it is opened", async () => {
  const before = Y.encodeStateAsUpdate(server.doc);
  const first = await open();
  await light(first, "saved");
  say(first, "confirmed");
  await light(first, "saved");
  await kept(first);
  first.close();
  generation = 2;
  serve("", before);
  const again = await open();
  await vi.waitFor(() => expect(again.offers.length).toBe(1), { timeout: 4_000 });
  expect(again.offers[0]!.lost.map((one) => one.text)).toEqual(["confirmed"]);
  expect(constraints(again.sync.doc)).toEqual(["the server's"]);
});

test("an older generation that has nothing more, or of which words were erased, is let go without a word", async () => {
  const first = await open();
  await light(first, "saved");
  first.close();
  generation = 2;
  const erased = readLedger(server.doc).constraints[0]!.id;
  server.doc.getMap("constraints").delete(erased);
  serve("restored", Y.encodeStateAsUpdate(server.doc));
  const again = await open();
  await vi.waitFor(() => expect(constraints(again.sync.doc)).toEqual(["restored"]), { timeout: 4_000 });
  await light(again, "saved");
  await vi.waitFor(() => expect(new Shelf(me).find(task)!.asides).toEqual([]));
  expect(again.offers).toEqual([]);
});

test("what another tab had kept in the same copy, and never sent, is offered by the tab that is still open", async () => {
  const [mine, theirs] = [await open(), await open()];
  await light(mine, "saved");
  await light(theirs, "saved");
  isAway = true;
  for (const socket of server.sockets) socket.close(1006);
  await light(theirs, "offline");
  say(theirs, "typed in the other tab");
  await kept(theirs);
  theirs.close();

  generation = 2;
  serve("restored", Y.encodeStateAsUpdate(server.doc));
  isAway = false;
  mine.sync.retry();
  await vi.waitFor(() => expect(mine.offers.length).toBe(1), { timeout: 4_000 });
  expect(mine.offers[0]!.lost.map((one) => one.text)).toEqual(["typed in the other tab"]);
});

test("what the server refuses for good stays aside, over a reload too, until somebody decides about it", async () => {
  const first = await open();
  await light(first, "saved");
  server.frozen = true;
  say(first, "refused");
  await kept(first);
  server.frozen = false;
  server.sockets.at(-1)!.close(4409, "another's client id");
  await vi.waitFor(() => expect(first.offers.length).toBe(1), { timeout: 4_000 });
  expect(first.offers[0]).toMatchObject({ why: "refused", lost: [{ kind: "constraint", text: "refused" }] });
  first.close();

  const again = await open();
  await vi.waitFor(() => expect(again.offers.length).toBe(1), { timeout: 4_000 });
  expect(again.offers[0]!.lost.map((one) => one.text)).toEqual(["refused"]);
  expect(constraints(again.sync.doc)).toEqual(["the server's"]);
  again.settle(again.offers[0]!);
  expect(new Shelf(me).find(task)!.asides).toEqual([]);
});

test("a server that refuses a fresh document too is not tried over and over", async () => {
  const first = await open();
  const ends: number[] = [];
  first.on("ended", ({ code }) => ends.push(code));
  await light(first, "saved");
  server.sockets.at(-1)!.close(4400, "malformed");
  await vi.waitFor(() => expect(server.sockets.length).toBe(2), { timeout: 4_000 });
  await light(first, "saved");
  server.sockets.at(-1)!.close(4400, "malformed");
  await vi.waitFor(() => expect(ends).toEqual([4400]), { timeout: 4_000 });
  expect(server.sockets.length).toBe(2);
});

test("signing out leaves nothing of a person, and nothing of another is touched", async () => {
  const first = await open();
  await light(first, "saved");
  await kept(first);
  const other = new Shelf({ id: "u2", name: "Wei", device: null });
  other.open({ ...known, id: "t2" }, 1);
  await new Shelf(me).clear();
  expect((await indexedDB.databases()).filter((one) => one.name?.startsWith("clew:u1:"))).toEqual([]);
  expect(localStorage.getItem("clew.kept.u1")).toBeNull();
  expect(other.tasks().map((one) => one.id)).toEqual(["t2"]);
});

test("nobody's words go out from an open task once somebody else has signed in here", async () => {
  const it = await open();
  await light(it, "saved");
  for (const socket of server.sockets) socket.close();
  new Shelf({ ...me, id: "u2", name: "Bob" });
  say(it, "Ann's");
  await expect(vi.waitFor(() => expect(constraints(server.doc)).toContain("Ann's"), { timeout: 400 })).rejects.toThrow();
  new Shelf(me); // and back
  await vi.waitFor(() => expect(constraints(server.doc)).toContain("Ann's"), { timeout: 8_000 });
});

test("a browser that can keep no more takes nobody for somebody else", () => {
  new Shelf(me);
  const full: Pick<Storage, "getItem" | "setItem" | "removeItem"> = {
    getItem: (key) => localStorage.getItem(key),
    removeItem: (key) => localStorage.removeItem(key),
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  };
  expect(new Shelf({ ...me, id: "u2", name: "Bob" }, full).isCurrent).toBe(true);
});
