// @vitest-environment happy-dom
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { Editor } from "@tiptap/core";
import { Collaboration } from "@tiptap/extension-collaboration";
import { describe, expect, test } from "vitest";
import * as Y from "yjs";

import { editorSchema } from "../src/doc/editor_schema";
import { addDocument, readDocuments, readMeta, root } from "../src/doc/schema";

interface Golden {
  part: "main" | "margin";
  projection?: { documents: { id: string; title: string }[]; meta: { name: string; status: string; goal: string } };
  yjs: Record<string, unknown>;
}

const folder = fileURLToPath(new URL("../../tests/fixtures/schema1/", `file://${import.meta.filename}`));
const expected = JSON.parse(readFileSync(`${folder}expected.json`, "utf8")) as Record<string, Golden>;
const mains = Object.entries(expected).filter(([, golden]) => golden.part === "main");

function load(name: string): Y.Doc {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, readFileSync(folder + name));
  return doc;
}

/** A shared value in the fixtures' normal form. */
function normal(value: unknown): unknown {
  const each = (entries: Iterable<[string, unknown]>) => Object.fromEntries([...entries].map(([key, one]) => [key, normal(one)]));
  if (value instanceof Y.Map) return { map: each(value.entries()) };
  if (value instanceof Y.XmlText) return { xmltext: value.toDelta(), entries: each(Object.entries(value.getAttributes())) };
  if (value instanceof Y.Text) return { text: value.toDelta(), entries: each(Object.entries(value.getAttributes())) };
  if (value instanceof Y.XmlElement) {
    return { element: value.nodeName, attributes: value.getAttributes(), children: value.toArray().map(normal) };
  }
  if (value instanceof Y.XmlFragment) return { fragment: value.toArray().map(normal) };
  return value;
}

describe("golden bytes of schema 1", () => {
  test.each(Object.entries(expected))("%s reads as it always has", (name, golden) => {
    const doc = load(name);
    const read = Object.fromEntries(Object.keys(golden.yjs).map((key) => [key, normal(doc.getMap(key))]));
    expect(read).toEqual(golden.yjs);
  });

  test.each(mains)("%s: the page reads what the server's projection says", (name, { projection }) => {
    const doc = load(name);
    const read = readMeta(doc);
    if (read.kind !== "readable") throw new Error(`read as ${read.kind}`);
    const { name: called, status, goal } = read.meta;
    expect({ name: called, status, goal: goal.toString() }).toEqual(expect.objectContaining({ name: projection!.meta.name, status: projection!.meta.status, goal: projection!.meta.goal }));
    const documents = readDocuments(doc).map(({ id, title }) => ({ id, title: title.toString() }));
    expect(documents).toEqual(projection!.documents.map(({ id, title }) => ({ id, title })));
  });

  test.each(mains)("%s: an editor that opens it deletes nothing and writes nothing", (name) => {
    const doc = load(name);
    const before = Y.encodeStateAsUpdate(doc);
    for (const { body } of readDocuments(doc)) {
      const words = body.toArray().map((one) => (one as Y.XmlElement).toString()).join("").replace(/<[^>]*>/g, "");
      const editor = new Editor({ extensions: [...editorSchema(), Collaboration.configure({ fragment: body })] });
      editor.state.doc.check();
      if (words) expect(editor.state.doc.textContent).toBe(words);
      editor.destroy();
    }
    expect(Y.encodeStateAsUpdate(doc)).toEqual(before);
  });
});

test("a document of a newer schema is not opened, and one that was never seeded is empty", () => {
  const doc = new Y.Doc();
  expect(readMeta(doc)).toEqual({ kind: "empty" });
  root(doc, "meta").set("schema", 2);
  expect(readMeta(doc)).toEqual({ kind: "newer", schema: 2 });
});

test("entries that are not documents are left out and left alone", () => {
  const doc = load("seed.bin");
  root(doc, "documents").set("odd", "a stranger's word");
  root(doc, "documents").set("odder", new Y.Map([["title", "no Text"]]));
  expect(readDocuments(doc).length).toBe(1);
  expect(root(doc, "documents").size).toBe(3);
});

test("a new document comes after the last and has the fields of the schema", () => {
  const doc = load("rich.bin");
  const before = readDocuments(doc).length;
  const id = addDocument(doc, "Letter");
  const last = readDocuments(doc).at(-1)!;
  expect(readDocuments(doc).length).toBe(before + 1);
  expect([last.id, last.title.toString(), last.kind, last.body.length]).toEqual([id, "Letter", "text", 0]);
});
