import { expect, test } from "vitest";
import * as Y from "yjs";

import { readMessages } from "../src/doc/conversation";
import { answer, setStep } from "../src/doc/entries";
import { readLedger } from "../src/doc/ledger";
import { root } from "../src/doc/schema";
import { canUndo, undoAnswer } from "../src/doc/undoing";

const SAID = "0199b000-0000-7000-8000-000000000001";
const MADE = (n: number): string => `5f0c7a3e-93a5-5f0e-9a53-2f1c6a2d8b0${n}`;

function put(parent: Y.Map<unknown>, id: string, fields: Record<string, unknown>): void {
  const entry = new Y.Map<unknown>();
  parent.set(id, entry);
  for (const [name, value] of Object.entries(fields)) entry.set(name, value);
}

/** A person's step and question, and an agent's answer, which filed a constraint, a decision and an answer, and closed the step. */
function task(): Y.Doc {
  const [person, agent] = [new Y.Doc(), new Y.Doc()];
  put(root(person, "slots"), "step", { intent: "next_step", state: "open", fields: new Y.Map([["text", new Y.Text("Call Acme")]]) });
  put(root(person, "questions"), "who", { text: new Y.Text("Who signs?"), answers: new Y.Map(), dropped: new Y.Map() });
  Y.applyUpdate(agent, Y.encodeStateAsUpdate(person));
  put(root(agent, "constraints"), MADE(1), { text: new Y.Text("At most 150 k€"), source: SAID, retired: new Y.Map() });
  put(root(agent, "decisions"), MADE(2), { text: new Y.Text("Net 30"), source: SAID });
  put((root(agent, "questions").get("who") as Y.Map<unknown>).get("answers") as Y.Map<unknown>, MADE(3), { text: new Y.Text("Ann") });
  (root(agent, "slots").get("step") as Y.Map<unknown>).set("state", "done");
  const filed = (kind: string, id: string) => ({ filed: kind, id, source: SAID });
  const refs = [filed("constraint", MADE(1)), filed("decision", MADE(2)), filed("answer", MADE(3)), filed("next_step", "step")];
  put(root(agent, "messages"), "0199b000-0000-7000-8000-000000000002", { role: "agent", author: "Clerk", text: new Y.Text("Filed."), refs });
  Y.applyUpdate(person, Y.encodeStateAsUpdate(agent));
  return person;
}

const answerOf = (doc: Y.Doc) => readMessages(doc)[0]!;

test("all that an answer filed is taken back, on whichever device, and the answer says so", () => {
  const later = new Y.Doc();
  Y.applyUpdate(later, Y.encodeStateAsUpdate(task()));
  expect(canUndo(later, answerOf(later))).toBe(true);
  undoAnswer(later, answerOf(later), { name: "owner" });
  const { constraints, decisions, questions, steps } = readLedger(later);
  expect([constraints, decisions, questions[0]!.answers]).toEqual([[], [], []]);
  expect(questions[0]!.status).toBe("open");
  expect(steps[0]!.status).toBe("open");
  expect(answerOf(later).text).toBe("Filed.");
  expect(answerOf(later).refs.at(-1)).toEqual({ kind: "undone", by: "owner", left: [] });
  expect(canUndo(later, answerOf(later))).toBe(false);
});

test("what people have changed since is left and named, and what was not the agent's is not touched", () => {
  const doc = task();
  const words = (root(doc, "constraints").get(MADE(1)) as Y.Map<unknown>).get("text") as Y.Text;
  words.insert(words.length, " net");
  put(root(doc, "decisions"), "mine", { text: new Y.Text("Net 45"), supersedes: MADE(2) });
  answer(doc, "who", "Bob", [], { name: "owner" });
  setStep(doc, "step", "open");
  setStep(doc, "step", "done");
  undoAnswer(doc, answerOf(doc), { name: "owner" });
  const { constraints, decisions, questions, steps } = readLedger(doc);
  expect(constraints.map((one) => one.text)).toEqual(["At most 150 k€ net"]);
  expect(decisions.map((one) => one.text)).toEqual(["Net 30", "Net 45"]);
  expect(questions[0]!.answers.map((one) => one.text)).toEqual(["Bob"]);
  expect(steps[0]!.status).toBe("done");
  expect(answerOf(doc).refs.at(-1)).toEqual({ kind: "undone", by: "owner", left: [MADE(1), MADE(2)] });
});
