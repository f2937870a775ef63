/**
 * The editor's link to a shared body. Owns that undo is one's own, and that a caret never stands where no words can: must never
 * write into a body that nobody has typed in.
 */

import { Extension, getSchema, type Extensions } from "@tiptap/core";
import { Collaboration } from "@tiptap/extension-collaboration";
import { Plugin, Selection } from "@tiptap/pm/state";
import type { EditorView } from "@tiptap/pm/view";
import { ySyncPluginKey } from "@tiptap/y-tiptap";
import type * as Y from "yjs";

import { editorSchema } from "./editor_schema";

/**
 * Undoing the making of a list, a quote or a cell must not take the words with it that others have put there since: a node
 * is only undone away once it is empty. (By default that holds for paragraphs alone.)
 */
const protectedNodes = new Set(Object.keys(getSchema(editorSchema()).nodes));

/** What y-tiptap's binding keeps of the selection while a transaction is under way. */
interface Binding {
  beforeTransactionSelection: object | null;
}

const bindingOf = ({ state }: EditorView): Binding => (ySyncPluginKey.getState(state) as { binding: Binding }).binding;

/**
 * When it first draws the body, y-tiptap sets the caret back to where it was in the empty paragraph that the editor began with
 * (position 1), whatever stands there now: in a body that begins with a list, between the list and its first item. While it
 * believes that a selection is already being kept it does not, and the caret is put before the first words.
 */
export function collaboration(body: Y.XmlFragment): Extensions {
  let drawn: EditorView | null = null;
  const heldCaret = Extension.create({
    name: "heldCaret",
    priority: 2_000, // its view comes before Collaboration's
    addProseMirrorPlugins: () => [
      new Plugin({
        view: (view) => {
          drawn = view;
          bindingOf(view).beforeTransactionSelection = {};
          return {};
        },
      }),
    ],
  });
  const onFirstRender = (): void => {
    if (!drawn) return;
    bindingOf(drawn).beforeTransactionSelection = null;
    drawn.dispatch(drawn.state.tr.setSelection(Selection.atStart(drawn.state.doc)));
  };
  return [heldCaret, Collaboration.configure({ fragment: body, yUndoOptions: { protectedNodes }, onFirstRender })];
}
