// @vitest-environment happy-dom
import { Editor } from "@tiptap/core";
import { expect, test, vi } from "vitest";
import * as Y from "yjs";

import { collaboration } from "../src/doc/collaboration";
import { editorSchema } from "../src/doc/editor_schema";

function body(doc: Y.Doc): Y.XmlFragment {
  return doc.getMap("m").get("b") as Y.XmlFragment;
}

/** A document whose body holds these nodes, each around the next, and words in the innermost. */
function bodyOf(...names: string[]): Y.Doc {
  const doc = new Y.Doc();
  const elements = names.map((name) => new Y.XmlElement(name));
  elements.forEach((element, index) => element.insert(0, [elements[index + 1] ?? new Y.XmlText("words")]));
  const fragment = doc.getMap<Y.XmlFragment>("m").set("b", new Y.XmlFragment());
  if (elements[0]) fragment.insert(0, [elements[0]]);
  return doc;
}

test.each([
  ["nothing"],
  ["a paragraph", "paragraph"],
  ["a list", "bulletList", "listItem", "paragraph"],
  ["a table", "table", "tableRow", "tableCell", "paragraph"],
  ["a quote", "blockquote", "paragraph"],
])("in a body that begins with %s the first caret stands among words, and others' edits keep it there", (_, ...names) => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const doc = bodyOf(...names);
  const before = Y.encodeStateAsUpdate(doc);
  const editor = new Editor({ extensions: [...editorSchema(), ...collaboration(body(doc))] });
  expect(editor.state.selection.$head.parent.inlineContent).toBe(true);
  expect(Y.encodeStateAsUpdate(doc)).toEqual(before);

  editor.commands.insertContent("mine");
  const other = new Y.Doc();
  Y.applyUpdate(other, Y.encodeStateAsUpdate(doc));
  const paragraph = new Y.XmlElement("paragraph");
  paragraph.insert(0, [new Y.XmlText("theirs")]);
  body(other).insert(0, [paragraph]);
  Y.applyUpdate(doc, Y.encodeStateAsUpdate(other));
  const { $head } = editor.state.selection;
  expect($head.parent.textContent.slice(0, $head.parentOffset)).toBe("mine");
  expect(warned).not.toHaveBeenCalled();
  editor.destroy();
  warned.mockRestore();
});
