// @vitest-environment happy-dom
import "fake-indexeddb/auto";
import { fromBase64 } from "lib0/buffer";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as Y from "yjs";

import { Problem, type Task } from "../src/sync/api";
import { LocalCopy, readCopy } from "../src/sync/local_copy";
import { Outbox } from "../src/sync/outbox";
import { Shelf } from "../src/sync/shelf";

const me = { id: "u1", name: "Ann", device: null };
const taskOf = (id: string): Task => ({ id, name: id, status: "open", role: "owner", created_at: "", updated_at: "" });

let shelf: Shelf;
let server: Record<string, Y.Doc>;
let trouble: Record<string, Problem>;
let asked: string[];

const api = {
  me: async () => me,
  ask: async (_method: string, path: string, body: { update: string; generation: number }) => {
    const task = path.split("/")[2]!;
    asked.push(task);
    if (trouble[task]) throw trouble[task];
    Y.applyUpdate((server[task] ??= new Y.Doc()), fromBase64(body.update));
    return { seq: body.generation };
  },
} as never;

/** What was written offline in a task, all but `before` of it. */
async function wrote(task: string, before: string, words: string): Promise<string> {
  const kept = shelf.open(taskOf(task), 1);
  const name = shelf.nameOf(task, 1, kept.copy);
  const copy = await LocalCopy.open(name, new Y.Doc());
  copy.doc.getText("t").insert(0, before);
  server[task] = new Y.Doc();
  Y.applyUpdate(server[task], Y.encodeStateAsUpdate(copy.doc));
  if (before) copy.note(Y.encodeStateVector(copy.doc));
  copy.doc.getText("t").insert(before.length, words);
  shelf.mark(task, true);
  copy.close();
  return name;
}

const there = (task: string): string | undefined => server[task]?.getText("t").toString();

beforeEach(() => {
  localStorage.clear();
  shelf = new Shelf(me);
  [server, trouble, asked] = [{}, {}, []];
});

afterEach(() => shelf.clear());

test("what waits in all tasks but the open one goes out, once, and what is through is noted", async () => {
  const name = await wrote("a", "before ", "and after");
  await wrote("b", "", "all of it");
  await wrote("c", "", "open");
  const outbox = new Outbox(api, shelf);
  await outbox.send("c");
  expect([there("a"), there("b"), there("c")]).toEqual(["before and after", "all of it", ""]);
  expect([...shelf.waiting()]).toEqual(["c"]);
  const kept = await readCopy(name);
  expect(kept!.reached).toEqual(Y.encodeStateVector(kept!.doc));
  await outbox.send("c");
  expect(asked.sort()).toEqual(["a", "b"]);
});

test("what the server will not take stays, says so, and is tried again when its task was opened", async () => {
  await wrote("a", "", "refused");
  await wrote("b", "", "taken");
  trouble["a"] = new Problem(409, "conflict", "of another generation", "generation");
  const outbox = new Outbox(api, shelf);
  await outbox.send();
  await outbox.send();
  expect([asked.sort(), [...outbox.stuck], [...shelf.waiting()], there("b")]).toEqual([["a", "b"], ["a"], ["a"], "taken"]);
  delete trouble["a"];
  await outbox.send("a");
  expect([...outbox.stuck]).toEqual([]);
  await outbox.send();
  expect([there("a"), [...shelf.waiting()]]).toEqual(["refused", []]);
});

test("while the server is away nothing is given up", async () => {
  await wrote("a", "", "one");
  await wrote("b", "", "two");
  for (const why of [
    new Problem(0, "unavailable", ""),
    new Problem(503, "unavailable", ""),
    new Problem(401, "unauthenticated", ""),
    new Problem(403, "forbidden", "", "stepped_down"),
  ]) {
    trouble = { a: why, b: why };
    const outbox = new Outbox(api, shelf);
    asked = [];
    await Promise.all([outbox.send(), outbox.send()]);
    expect([asked.length, [...outbox.stuck], shelf.waiting().size]).toEqual([1, [], 2]);
  }
});

test("what a tab of this browser wrote meanwhile is still to be sent", async () => {
  const name = await wrote("a", "", "one");
  const slow = {
    me: async () => me,
    ask: async (...asked: [string, string, { update: string; generation: number }]) => {
      await (api as { ask: (...asked: unknown[]) => Promise<unknown> }).ask(...asked);
      const copy = await LocalCopy.open(name, new Y.Doc());
      copy.doc.getText("t").insert(0, "more ");
      copy.close();
      await new Promise((resolve) => setTimeout(resolve, 20));
    },
  } as never;
  await new Outbox(slow, shelf).send();
  expect([...shelf.waiting()]).toEqual(["a"]);
  await new Outbox(api, shelf).send();
  expect([there("a"), [...shelf.waiting()]]).toEqual(["more one", []]);
});

/** An api that lets something happen between a request and its answer. */
const during = (what: () => unknown): never =>
  ({
    me: async () => me,
    ask: async (...asked: unknown[]) => {
      const answer = await (api as { ask: (...asked: unknown[]) => Promise<unknown> }).ask(...asked);
      await what();
      return answer;
    },
  }) as never;

test("what a tab of this browser deleted meanwhile is still to be sent", async () => {
  const name = await wrote("a", "", "one two");
  const tab = await LocalCopy.open(name, new Y.Doc());
  await new Outbox(
    during(() => tab.doc.getText("t").delete(0, 4)),
    shelf,
  ).send();
  expect([there("a"), [...shelf.waiting()]]).toEqual(["one two", ["a"]]);
  tab.close();
  await new Outbox(api, shelf).send();
  expect([there("a"), [...shelf.waiting()]]).toEqual(["two", []]);
});

test("who signs out while a request is under way leaves nothing in this browser", async () => {
  await wrote("a", "", "one");
  await new Outbox(
    during(() => shelf.clear()),
    shelf,
  ).send();
  expect(await indexedDB.databases()).toEqual([]);
});

test("what was written in a newer generation meanwhile is still to be sent", async () => {
  const older = await wrote("a", "", "one");
  await new Outbox(
    during(() => {
      shelf.setAside("a", older, "older", 2);
      shelf.mark("a", true);
    }),
    shelf,
  ).send();
  expect([...shelf.waiting()]).toEqual(["a"]);
});

test("where the copy cannot be looked at again, it counts as not sent", async () => {
  const name = await wrote("a", "", "one");
  const open = indexedDB.open.bind(indexedDB);
  await new Outbox(
    during(() => {
      indexedDB.open = () => {
        throw new DOMException("the disk is gone");
      };
    }),
    shelf,
  ).send();
  indexedDB.open = open;
  expect([...shelf.waiting()]).toEqual(["a"]);
  expect(await readCopy(name)).not.toBeNull();
});

test("a copy that cannot be read, or not all of it, waits for its task to be opened", async () => {
  const name = await wrote("a", "", "one");
  const copy = await LocalCopy.open(name, new Y.Doc());
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = indexedDB.open(name, 1);
    request.onsuccess = () => resolve(request.result);
  });
  const transaction = database.transaction("updates", "readwrite");
  transaction.objectStore("updates").add(new Uint8Array([255, 255, 255]));
  await new Promise((resolve) => (transaction.oncomplete = resolve));
  database.close();
  copy.close();
  shelf.open(taskOf("b"), 1); // the browser has thrown its copy away
  shelf.mark("b", true);
  const outbox = new Outbox(api, shelf);
  await outbox.send();
  expect([asked, [...outbox.stuck], [...shelf.waiting()]]).toEqual([[], ["a", "b"], ["a", "b"]]);
});

test("nobody's words go out once somebody else has signed in here", async () => {
  await wrote("a", "", "Ann's");
  new Shelf({ ...me, id: "u2", name: "Bob" });
  await new Outbox(api, shelf).send();
  expect([asked, [...shelf.waiting()]]).toEqual([[], ["a"]]);
});

test("nobody's words go out where the server takes us for somebody else, or says nobody", async () => {
  await wrote("a", "", "Ann's");
  const nobody = Promise.reject(new Problem(401, "unauthenticated", ""));
  for (const who of [{ ...me, id: "u2" }, nobody]) {
    await new Outbox({ ...(api as object), me: async () => await who } as never, shelf).send();
    expect([asked, [...shelf.waiting()]]).toEqual([[], ["a"]]);
  }
});

test("what does not get through on a bad line does not keep the others waiting for ever", async () => {
  await wrote("a", "", "long");
  await wrote("b", "", "short");
  trouble["a"] = new Problem(0, "unavailable", "it took too long");
  const outbox = new Outbox(api, shelf);
  await outbox.send();
  await outbox.send();
  expect([there("b"), [...shelf.waiting()]]).toEqual(["short", ["a"]]);
});

test("what another tab has sent meanwhile is not stuck any more", async () => {
  await wrote("a", "", "one");
  trouble["a"] = new Problem(409, "conflict", "of another generation", "generation");
  const outbox = new Outbox(api, shelf);
  await outbox.send();
  shelf.mark("a", false);
  await outbox.send();
  expect([...outbox.stuck]).toEqual([]);
});

test("what is too long for one request waits for its task to be opened", async () => {
  await wrote("a", "", "x".repeat(700_001));
  const outbox = new Outbox(api, shelf);
  await outbox.send();
  expect([asked, [...outbox.stuck], [...shelf.waiting()]]).toEqual([[], ["a"], ["a"]]);
});
