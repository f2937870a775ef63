import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { describe, expect, test } from "vitest";
import * as Y from "yjs";

import { compareMessages, readMessages, readRefs } from "../src/doc/conversation";
import * as entries from "../src/doc/entries";
import { orderedId, timeOf } from "../src/doc/ids";
import { conflictsOf, readLedger, type Ledger } from "../src/doc/ledger";
import { root } from "../src/doc/schema";
import { answerStanding, decisionStandings } from "../src/doc/standing";

const folder = fileURLToPath(new URL("../../tests/fixtures/schema1/", `file://${import.meta.filename}`));
const read = (name: string) => JSON.parse(readFileSync(folder + name, "utf8"));
const cases = read("standings.json") as {
  decisions: { supersedes: Record<string, string[]>; standings: Record<string, string> }[];
  answers: { answers: { id: string; text: string; supersedes: string[] }[]; dropped: boolean; status: string }[];
  message_order: string[];
};
const expected = read("expected.json") as Record<string, { part: string; projection: Record<string, Record<string, unknown>[]> }>;
const mains = Object.keys(expected).filter((name) => expected[name]!.part === "main");
const ann = { name: "Ann", session: "s" };

function load(name: string): Y.Doc {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, readFileSync(folder + name));
  return doc;
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

describe("derivations are those of the server", () => {
  test.each(cases.decisions)("decisions $supersedes", ({ supersedes, standings }) => {
    expect(Object.fromEntries(decisionStandings(new Map(Object.entries(supersedes))))).toEqual(standings);
  });

  test.each(cases.answers)("answers $answers", ({ answers, dropped, status }) => {
    expect(answerStanding(answers, dropped)).toBe(status);
  });

  test("messages are in one order everywhere", () => {
    expect([...cases.message_order].reverse().sort(compareMessages)).toEqual(cases.message_order);
  });
});

describe.each(mains)("%s, as the server projects it", (name) => {
  const { projection } = expected[name]!;
  const ledger = readLedger(load(name));

  test.each(["constraints", "decisions", "questions"] as const)("%s", (kind) => {
    const own = ledger[kind].map((item) => ({
      ...item,
      at: iso(item.at),
      ...("answers" in item
        ? { answers: item.answers.map(({ shared: _, ...answer }) => ({ ...answer, at: iso(answer.at) })) }
        : {}),
    }));
    expect(own.map(({ shared: _, ...item }) => item)).toEqual(projection[kind]);
  });

  test("outputs", () => {
    const own = ledger.outputs.map(({ id, text, status, next }) => ({ id, text, status, next }));
    expect(own).toEqual(projection["outputs"]!.map(({ id, text, status, next }) => ({ id, text, status, next })));
  });

  test("messages", () => {
    const own = readMessages(load(name)).map(({ refs, at, ...message }) => ({
      ...message,
      at: iso(at),
      refs: refs.length ? refs.map((ref) => "id" in ref && ref.id) : null,
      status: "sent",
    }));
    expect(own).toEqual(projection["messages"]);
  });
});

test("two decisions in conflict are one group, and another pair is another", () => {
  const [group, ...rest] = conflictsOf(readLedger(load("rich.bin")).decisions);
  expect(group?.map((one) => one.text)).toEqual(["Net 45", "Net 60 天"]);
  expect(rest).toEqual([]);
});

describe("what the page adds", () => {
  const make = (write: (doc: Y.Doc) => void): Ledger => {
    const doc = new Y.Doc();
    write(doc);
    return readLedger(doc);
  };

  test("a constraint with its severity; retired and put back by anybody", () => {
    const doc = new Y.Doc();
    const id = entries.addConstraint(doc, "EU only", "critical", ann, "m1");
    expect(readLedger(doc).constraints).toMatchObject([
      { id, text: "EU only", severity: "critical", status: "active", by: "Ann", source: "m1" },
    ]);
    entries.takeBack(doc, "constraints", id, ann);
    expect(readLedger(doc).constraints[0]!.status).toBe("retired");
    entries.putBack(doc, "constraints", id);
    expect(readLedger(doc).constraints[0]!.status).toBe("active");
  });

  test("a decision that takes the place of two settles their conflict", () => {
    const { decisions } = make((doc) => {
      const old = entries.decide(doc, "Net 30", { topic: "payment" }, ann);
      const [one, other] = ["Net 45", "Net 60"].map((text) => entries.decide(doc, text, { supersedes: [old] }, ann));
      expect(conflictsOf(readLedger(doc).decisions).length).toBe(1);
      entries.decide(doc, "Net 50", { supersedes: [one!, other!] }, ann);
    });
    expect(decisions.map((one) => one.status)).toEqual(["superseded", "superseded", "superseded", "current"]);
  });

  test("answers that differ conflict until one takes their place", () => {
    const doc = new Y.Doc();
    const id = entries.ask(doc, "Who signs?", ann);
    const question = () => readLedger(doc).questions[0]!;
    entries.answer(doc, id, "The CFO", [], ann);
    entries.answer(doc, id, "The CEO", [], ann);
    expect(question().status).toBe("conflicting");
    entries.answer(
      doc,
      id,
      "Both",
      question().answers.map((one) => one.id),
      ann,
    );
    expect(question().status).toBe("answered");
  });

  test("a next step, done", () => {
    const doc = new Y.Doc();
    const id = entries.addStep(doc, "Send it", ann, "m1");
    expect(readLedger(doc).steps).toMatchObject([{ id, text: "Send it", status: "open", by: "Ann", source: "m1" }]);
    entries.setStep(doc, id, "done");
    expect(readLedger(doc).steps[0]!.status).toBe("done");
  });

  test("is undone without what others or an agent added meanwhile", () => {
    const doc = new Y.Doc();
    const undo = entries.ledgerUndo(doc);
    const mine = entries.addConstraint(doc, "mine", "normal", ann);
    const agent = new Y.Doc();
    Y.applyUpdate(agent, Y.encodeStateAsUpdate(doc));
    entries.takeBack(agent, "constraints", mine, { name: "Clerk" });
    entries.addConstraint(agent, "the agent's", "normal", { name: "Clerk" });
    Y.applyUpdate(doc, Y.encodeStateAsUpdate(agent), "server");
    const step = entries.addStep(doc, "also mine", ann);
    undo.undo();
    expect(readLedger(doc).steps).toEqual([]);
    expect(step).toBeTruthy();
    expect(readLedger(doc).constraints.map((one) => [one.text, one.status])).toEqual([
      ["mine", "retired"],
      ["the agent's", "active"],
    ]);
  });

  test("a message comes after those on the screen, also where their device's clock is ahead", () => {
    const doc = new Y.Doc();
    const ahead = orderedId(Date.now(), Date.now() + 3_600_000);
    root(doc, "messages").set(ahead, new Y.Map([["text", "from the future"]]));
    const id = entries.addMessage(doc, "an answer", ann);
    expect(readMessages(doc).map((one) => one.id)).toEqual([ahead, id]);
    expect(readMessages(doc)[1]).toMatchObject({ author: "Ann", role: "user", session: "s", text: "an answer" });
  });
});

test("ids are in the order of their making, and tell their time", () => {
  const made = Array.from({ length: 2_000 }, () => orderedId(5_000));
  expect([...new Set(made)].sort()).toEqual(made);
  const now = Date.now() + 1_000;
  expect(timeOf(orderedId(now, now + 3_000))).toBe(now + 3_000);
  expect(timeOf(orderedId(now))).toBe(now);
  expect(timeOf("7c0e5f0e-8a55-4d3a-9a53-0d3c3ef1f001")).toBeNull();
});

test("what an answer refers to is read from whatever a peer wrote", () => {
  const refs = [
    { filed: "constraint", id: "c1", source: "m1" },
    { unfiled: "maybe later", source: "m1" },
    { fell_back: "the model was not there" },
    "m0",
    { filed: "constraint" },
    null,
    7,
  ];
  expect(readRefs(refs)).toEqual([
    { kind: "filed", entry: "constraint", id: "c1", source: "m1" },
    { kind: "unfiled", quote: "maybe later", source: "m1" },
    { kind: "fell back", why: "the model was not there" },
    { kind: "message", id: "m0" },
  ]);
  for (const odd of [null, 3, "x", { a: 1 }]) expect(readRefs(odd)).toEqual([]);
});
