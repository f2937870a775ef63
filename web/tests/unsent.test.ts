import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { expect, test } from "vitest";
import * as Y from "yjs";

import { readMessages } from "../src/doc/conversation";
import * as entries from "../src/doc/entries";
import { readLedger } from "../src/doc/ledger";
import { readDocuments } from "../src/doc/schema";
import { lostBetween, putBack } from "../src/doc/unsent";

const seed = readFileSync(fileURLToPath(new URL("../../tests/fixtures/schema1/rich.bin", `file://${import.meta.filename}`)));
const me = { name: "Ann" };

function fresh(): Y.Doc {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, seed);
  return doc;
}

function write(doc: Y.Doc, words: string): void {
  const block = new Y.XmlElement("paragraph");
  block.insert(0, [new Y.XmlText(words)]);
  const { body } = readDocuments(doc)[0]!;
  body.insert(body.length, [block]);
}

test("nothing is offered of what the server has", () => {
  const kept = fresh();
  expect(lostBetween(kept, fresh(), null)).toEqual([]);
});

test("all that was only here is offered by its words, and goes back without touching what is there", () => {
  const [kept, doc] = [fresh(), fresh()];
  write(kept, "a paragraph 合同 😀");
  entries.addMessage(kept, "a message", me);
  const constraint = entries.addConstraint(kept, "a constraint", "critical", me);
  entries.addStep(kept, "a step", me);
  const question = readLedger(kept).questions[0]!;
  entries.answer(kept, question.id, "an answer", [], me);
  const other = readLedger(kept).constraints[0]!;
  other.shared!.insert(0, "edited: ");
  const before = readLedger(doc).constraints.length;

  const lost = lostBetween(kept, doc, null);
  expect(lost.map((one) => [one.kind, one.text]).sort()).toEqual([
    ["answer", "an answer"],
    ["constraint", "a constraint"],
    ["constraint", `edited: ${readLedger(doc).constraints[0]!.text}`],
    ["message", "a message"],
    ["next_step", "a step"],
    ["paragraph", "a paragraph 合同 😀"],
  ]);
  putBack(doc, lost, "Kept here");
  expect(readLedger(doc).constraints.find((one) => one.id === constraint)).toMatchObject({
    text: "a constraint",
    severity: "critical",
    by: "Ann",
  });
  expect(readLedger(doc).constraints.length).toBe(before + 1);
  expect(readLedger(doc).steps.at(-1)?.text).toBe("a step");
  expect(readMessages(doc).at(-1)?.text).toBe("a message");
  const added = readDocuments(doc).at(-1)!;
  expect(added.title.toString()).toBe("Kept here");
  expect(added.body.toString()).toContain("a paragraph 合同 😀");
  expect(added.body.toString()).toContain("an answer");
  expect(lostBetween(kept, doc, Y.encodeStateVector(kept))).toEqual([]);
});

test("what is known to have been sent is not lost, be it in the other document or not", () => {
  const kept = fresh();
  write(kept, "sent and then rolled back");
  const reached = Y.encodeStateVector(kept);
  write(kept, "never sent");
  expect(lostBetween(kept, fresh(), reached).map((one) => one.text)).toEqual(["never sent"]);
});
