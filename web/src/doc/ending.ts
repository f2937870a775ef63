/**
 * The way out of a table that a document ends with. Owns that it is a place for the caret and no content: an empty paragraph
 * would be one more for each browser that has the document open.
 */

import type { Editor } from "@tiptap/core";
import { GapCursor } from "@tiptap/pm/gapcursor";

/** Ctrl+End, and Cmd+ArrowDown where that is its name. */
export function isToEnd(event: KeyboardEvent): boolean {
  if (event.shiftKey || event.altKey) return false;
  return (event.ctrlKey && event.key === "End") || (event.metaKey && event.key === "ArrowDown");
}

/** Put the caret behind a table at the end; false where there is none. What is written or pasted there makes its own paragraph. */
export function toEndBehindTable({ view }: Editor): boolean {
  const { doc, tr } = view.state;
  if (doc.lastChild?.type.name !== "table") return false;
  view.dispatch(tr.setSelection(new GapCursor(doc.resolve(doc.content.size))).scrollIntoView());
  return true;
}
