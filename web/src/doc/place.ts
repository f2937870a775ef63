/**
 * A place in a body that holds while others write around it. Owns what is kept of a caret, and the mark where one was; must
 * never hold words.
 */

import { Extension, type Editor } from "@tiptap/core";
import { Plugin, PluginKey, TextSelection } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";
import { absolutePositionToRelativePosition, relativePositionToAbsolutePosition, ySyncPluginKey } from "@tiptap/y-tiptap";
import * as Y from "yjs";

interface Bound {
  doc: Y.Doc;
  type: Y.XmlFragment;
  binding: { mapping: Parameters<typeof absolutePositionToRelativePosition>[2] };
}

const boundOf = (editor: Pick<Editor, "state">): Bound => ySyncPluginKey.getState(editor.state) as Bound;

/** Where the caret is, as plain data. */
export function placeOf(editor: Editor): unknown {
  const { type, binding } = boundOf(editor);
  const place = absolutePositionToRelativePosition(editor.state.selection.head, type, binding.mapping) as Y.RelativePosition;
  return Y.relativePositionToJSON(place);
}

/** Where that is now; null if it is not there (any more), or is no place. */
export function positionOf(editor: Pick<Editor, "state">, place: unknown): number | null {
  const { doc, type, binding } = boundOf(editor);
  try {
    const relative = Y.createRelativePositionFromJSON(place);
    if (relative.tname !== null) return null;
    return relativePositionToAbsolutePosition(doc, type, relative, binding.mapping);
  } catch {
    return null; // not there yet, or what somebody's page made of it
  }
}

/** The block of text that the caret is in. */
export function blockAt(editor: Editor): Y.XmlElement | null {
  const { binding } = boundOf(editor);
  const { parent } = editor.state.selection.$head;
  const found = [...binding.mapping].find(([type, node]) => type instanceof Y.XmlElement && node === parent);
  return (found?.[0] as Y.XmlElement | undefined) ?? null;
}

interface Mark {
  place: unknown;
  drawn: DecorationSet;
}

const key = new PluginKey<Mark>("placeMark");
const NONE: Mark = { place: null, drawn: DecorationSet.empty };

/** Put the caret there without asking for a keyboard; with a mark of those words, where nobody sees a caret. False if it can't be. */
export function putCaret(editor: Editor, place: unknown, mark: string | null): boolean {
  const at = positionOf(editor, place);
  if (at === null || at > editor.state.doc.content.size) return false;
  const { tr } = editor.state;
  tr.setSelection(TextSelection.near(tr.doc.resolve(at))).setMeta("addToHistory", false);
  editor.view.dispatch(mark === null ? tr : tr.setMeta(key, { place, words: mark }));
  return true;
}

/** The mark stands until its person is among the words again. */
export const PlaceMark = Extension.create({
  name: "placeMark",
  addProseMirrorPlugins: () => [
    new Plugin<Mark>({
      key,
      state: {
        init: () => NONE,
        apply: (tr, before, _, state) => {
          const put = tr.getMeta(key) as { place: unknown; words: string } | null | undefined;
          if (put === null) return NONE;
          if (!put && (before === NONE || !tr.docChanged)) return before;
          if (!put && !tr.getMeta(ySyncPluginKey)) return NONE;
          const words = put?.words ?? (before.drawn.find()[0]?.spec as { words?: string } | undefined)?.words ?? "";
          const place = put?.place ?? before.place;
          const at = positionOf({ state }, place);
          if (at === null || at > tr.doc.content.size) return NONE;
          const drawn = Decoration.widget(at, () => markOf(words), { side: -1, key: "place", words, ignoreSelection: true });
          return { place, drawn: DecorationSet.create(tr.doc, [drawn]) };
        },
      },
      props: {
        decorations: (state) => key.getState(state)?.drawn,
        handleDOMEvents: {
          focus: (view) => {
            if (key.getState(view.state) !== NONE) view.dispatch(view.state.tr.setMeta(key, null));
            return false;
          },
        },
      },
    }),
  ],
});

function markOf(words: string): HTMLElement {
  const mark = document.createElement("span");
  mark.className = "place-mark";
  // drawn from the attribute by the style sheet, so that it is no part of the words
  mark.dataset["name"] = words;
  return mark;
}
