/**
 * The editor's nodes and marks. Owns that they are those of schema 1, all of them: what an editor does not know it deletes
 * from the shared document, words and all, for everyone. The tests hold this to `crdt_docs/schema1.json`.
 */

import { Mark, mergeAttributes, type Extensions } from "@tiptap/core";
import { Code } from "@tiptap/extension-code";
import { TaskItem, TaskList } from "@tiptap/extension-list";
import { Table, TableCell, TableHeader, TableRow } from "@tiptap/extension-table";
import { StarterKit } from "@tiptap/starter-kit";

/** An attribute that lives in the document alone, and is written to the page as `data-NAME`. */
function kept(name: string) {
  return {
    default: null,
    parseHTML: (element: HTMLElement) => element.getAttribute(`data-${name}`),
    renderHTML: (attributes: Record<string, unknown>) =>
      attributes[name] == null ? {} : { [`data-${name}`]: String(attributes[name]) },
  };
}

interface MarkKind {
  name: string;
  tag: string;
  attributes: string[];
  overlaps?: boolean;
}

function markOf({ name, tag, attributes, overlaps = false }: MarkKind): Mark {
  return Mark.create({
    name,
    inclusive: false,
    ...(overlaps ? { excludes: "" } : {}),
    addAttributes: () => Object.fromEntries(attributes.map((attribute) => [attribute, kept(attribute)])),
    parseHTML: () => [{ tag: `${tag}[data-mark=${name}]` }],
    renderHTML: ({ HTMLAttributes }) => [tag, mergeAttributes(HTMLAttributes, { "data-mark": name }), 0],
  });
}

const SUGGESTIONS: MarkKind[] = [
  { name: "insertion", tag: "ins", attributes: ["id", "by"] },
  { name: "deletion", tag: "del", attributes: ["id", "by"] },
  { name: "modification", tag: "span", attributes: ["id", "by", "type", "attrName", "previousValue", "newValue"] },
  { name: "comment", tag: "mark", attributes: ["id"], overlaps: true },
];

/** A cell without Tiptap's `align`, which schema 1 does not have. */
const cellAttributes = {
  colspan: { default: 1 },
  rowspan: { default: 1 },
  colwidth: { default: null },
};

export function editorSchema(): Extensions {
  return [
    StarterKit.configure({
      undoRedo: false, // undo belongs to Collaboration: one's own edits only
      trailingNode: false, // it writes a paragraph per browser
      link: { openOnClick: false, autolink: true, HTMLAttributes: { target: null, rel: null } },
      code: false,
    }),
    Code.extend({ excludes: "code" }), // bold code is one word with two marks, in Markdown and here
    TaskList,
    TaskItem.configure({ nested: true }),
    Table.configure({ resizable: false }),
    TableRow,
    TableCell.extend({ addAttributes: () => cellAttributes }),
    TableHeader.extend({ addAttributes: () => cellAttributes }),
    ...SUGGESTIONS.map(markOf),
  ];
}
