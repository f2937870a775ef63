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
  for (const status of [0, 503, 401]) {
    const why = new Problem(status, status === 401 ? "unauthenticated" : "unavailable", "");
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

test("what is too long for one request waits for its task to be opened", async () => {
  await wrote("a", "", "x".repeat(700_001));
  const outbox = new Outbox(api, shelf);
  await outbox.send();
  expect([asked, [...outbox.stuck], [...shelf.waiting()]]).toEqual([[], ["a"], ["a"]]);
});
