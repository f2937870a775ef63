// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as Y from "yjs";

import { takeBack } from "../src/doc/entries";
import { addDocument, readDocuments } from "../src/doc/schema";
import type { TaskSync } from "../src/sync/task_sync";
import { DocumentsView } from "../src/views/documents_view";

vi.mock("../src/views/editor", () => ({}));

let doc: Y.Doc;
let view: DocumentsView;

const title = (): HTMLInputElement | null => view.querySelector("#document-title");
const button = (words: string): HTMLButtonElement | undefined =>
  [...view.querySelectorAll("button")].find((one) => one.textContent?.trim() === words);
const removed = (): string[] => readDocuments(doc).flatMap((one) => (one.isRetired ? [one.title.toString()] : []));

async function press(words: string): Promise<void> {
  button(words)!.click();
  await view.updateComplete;
}

async function show(): Promise<void> {
  view = new DocumentsView();
  view.sync = { doc } as TaskSync;
  view.who = { name: "Ann" };
  view.editable = true;
  document.body.append(view);
  await view.updateComplete;
}

beforeEach(() => (doc = new Y.Doc()));
afterEach(() => view.remove());

test("the title of a document that was the only one is live again once it is put back", async () => {
  const id = addDocument(doc, "Draft");
  await show();
  await press("Remove this document");
  expect([removed(), title()]).toEqual([["Draft"], null]);
  await press("Put back");
  expect([removed(), title()?.value]).toEqual([[], "Draft"]);
  title()!.value = "Contract";
  title()!.dispatchEvent(new Event("input", { bubbles: true }));
  expect(readDocuments(doc).find((one) => one.id === id)?.title.toString()).toBe("Contract");
});

test("who holds the key down or clicks twice takes one document away, and no other", async () => {
  for (const words of ["One", "Two", "Three"]) addDocument(doc, words);
  await show();
  const pressed = button("Remove this document")!;
  await press("Remove this document");
  expect(button("Remove this document")).not.toBe(pressed);
  button("Remove this document")!.dispatchEvent(new MouseEvent("click", { detail: 2, bubbles: true }));
  await view.updateComplete;
  expect(removed()).toEqual(["One"]);
});

test("who writes in a document that somebody takes away stays in it, and hears of it", async () => {
  addDocument(doc, "Notes");
  const draft = addDocument(doc, "Draft");
  await show();
  await press("Draft");
  takeBack(doc, "documents", draft, { name: "Wei" });
  await view.updateComplete;
  expect(title()?.value).toBe("Draft");
  expect(view.querySelector("[role=status]")?.textContent).toContain("This document was removed");
});
