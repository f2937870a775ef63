/**
 * The editor's nodes and marks. Owns that they are those of schema 1, all of them: what an editor does not know it deletes
 * from the shared document, words and all, for everyone. The tests hold this to `crdt_docs/schema1.json`.
 */

import { Mark, mergeAttributes, type Extensions } from "@tiptap/core";
import { Code } from "@tiptap/extension-code";
import { Link } from "@tiptap/extension-link";
import { TaskItem, TaskList } from "@tiptap/extension-list";
import { Table, TableCell, TableHeader, TableRow } from "@tiptap/extension-table";
import { StarterKit } from "@tiptap/starter-kit";

import { say } from "../words/language";
import { isFollowable } from "./addresses";

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
    parseHTML: () => [{ tag: `${tag}[data-mark=${name}]`, priority: 60 }],
    renderHTML: ({ HTMLAttributes }) => [tag, mergeAttributes(HTMLAttributes, { "data-mark": name }), 0],
  });
}

const SUGGESTIONS: MarkKind[] = [
  { name: "insertion", tag: "ins", attributes: ["id", "by"] },
  { name: "deletion", tag: "del", attributes: ["id", "by"] },
  { name: "modification", tag: "span", attributes: ["id", "by", "type", "attrName", "previousValue", "newValue"] },
  { name: "comment", tag: "mark", attributes: ["id"], overlaps: true },
];

const spanned = (name: string) => ({
  default: 1,
  parseHTML: (element: HTMLElement) => Math.min(Math.max(Number.parseInt(element.getAttribute(name) ?? "", 10) || 1, 1), 50),
});

/** A cell without Tiptap's `align`, which schema 1 does not have; pasted ones keep no widths. */
const cellAttributes = {
  colspan: spanned("colspan"),
  rowspan: spanned("rowspan"),
  colwidth: { default: null, parseHTML: () => null },
};

const DROPPED = { default: null, parseHTML: () => null, rendered: false };

/** A link that leads to the web or a mail, whoever wrote it, and into a tab of its own that learns nothing of this one. */
const SafeLink = Link.extend({
  addAttributes: () => ({ href: { default: null }, target: DROPPED, rel: DROPPED, class: DROPPED, title: { default: null } }),
  renderHTML: ({ HTMLAttributes: { href, title } }) => [
    "a",
    isFollowable(href) ? { href, title, target: "_blank", rel: "noopener noreferrer" } : { title },
    0,
  ],
}).configure({
  openOnClick: false,
  autolink: true,
  markdownLinks: true,
  defaultProtocol: "https",
  isAllowedUri: (address) => isFollowable(address),
  HTMLAttributes: { target: null, rel: null },
});

export function editorSchema(): Extensions {
  return [
    StarterKit.configure({
      undoRedo: false, // undo belongs to Collaboration: one's own edits only
      trailingNode: false, // it writes a paragraph per browser
      link: false,
      code: false,
    }),
    SafeLink,
    Code.extend({ excludes: "code" }), // bold code is one word with two marks, in Markdown and here
    TaskList,
    TaskItem.configure({ nested: true, a11y: { checkboxLabel: (item) => item.textContent || say("editor.item") } }),
    Table.configure({ resizable: false }),
    TableRow,
    TableCell.extend({ addAttributes: () => cellAttributes }),
    TableHeader.extend({ addAttributes: () => cellAttributes }),
    ...SUGGESTIONS.map(markOf),
  ];
}
