import { expect, test } from "vitest";
import * as Y from "yjs";

import { tears } from "../src/doc/composing";

const block = (doc: Y.Doc, at: number): Y.XmlElement => doc.getXmlFragment("body").get(at) as Y.XmlElement;
const text = (doc: Y.Doc, at: number): Y.XmlText => block(doc, at).get(0) as Y.XmlText;

/** Two documents with the same two paragraphs; in the first, "n" is being composed behind the words of its first. */
function both(): [Y.Doc, Y.Doc] {
  const [mine, theirs] = [new Y.Doc(), new Y.Doc()];
  for (const words of ["合同", "second"]) {
    const element = new Y.XmlElement("paragraph");
    element.insert(0, [new Y.XmlText(words)]);
    mine.getXmlFragment("body").push([element]);
  }
  Y.applyUpdate(theirs, Y.encodeStateAsUpdate(mine));
  text(mine, 0).insert(2, "n");
  return [mine, theirs];
}

test.each<[boolean, string, (doc: Y.Doc) => void]>([
  [true, "at the caret", (doc) => text(doc, 0).insert(2, "x")],
  [true, "between the words before it", (doc) => text(doc, 0).insert(1, "x")],
  [true, "by deleting a letter of them", (doc) => text(doc, 0).delete(0, 1)],
  [true, "by deleting the block", (doc) => doc.getXmlFragment("body").delete(0, 1)],
  [false, "before all words", (doc) => text(doc, 0).insert(0, "x")],
  [false, "in another block", (doc) => text(doc, 1).insert(3, "x")],
  [false, "in a new block", (doc) => doc.getXmlFragment("body").insert(1, [new Y.XmlElement("paragraph")])],
])("it is %s that a word is torn by what another writes %s", (isTorn, _, write) => {
  const [mine, theirs] = both();
  const before = Y.encodeStateVector(theirs);
  write(theirs);
  expect(tears(Y.encodeStateAsUpdate(theirs, before), block(mine, 0))).toBe(isTorn);
});

test("a word that is composed in an empty block is torn by another's first letter there", () => {
  const [mine, theirs] = [new Y.Doc(), new Y.Doc()];
  mine.getXmlFragment("body").push([new Y.XmlElement("paragraph")]);
  Y.applyUpdate(theirs, Y.encodeStateAsUpdate(mine));
  const before = Y.encodeStateVector(theirs);
  block(mine, 0).insert(0, [new Y.XmlText("n")]);
  block(theirs, 0).insert(0, [new Y.XmlText("x")]);
  expect(tears(Y.encodeStateAsUpdate(theirs, before), block(mine, 0))).toBe(true);
});

test("one's own letters that come back, and others' behind them, tear nothing", () => {
  const [mine, theirs] = both();
  const own = Y.encodeStateAsUpdate(mine, Y.encodeStateVector(theirs));
  expect(tears(own, block(mine, 0))).toBe(false);
  Y.applyUpdate(theirs, own);
  const before = Y.encodeStateVector(theirs);
  text(theirs, 0).insert(3, "x");
  expect(tears(Y.encodeStateAsUpdate(theirs, before), block(mine, 0))).toBe(false);
});
