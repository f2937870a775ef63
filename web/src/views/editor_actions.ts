/** What the editor's bar can do, in its order. Each but undo has its Markdown too, as one types. */

import type { Editor } from "@tiptap/core";
import { html, svg, type TemplateResult } from "lit";

import type { Plain } from "../words/language";

export interface Action {
  label: Plain;
  sign: string;
  /** Shown instead of the sign, where no sign says it. */
  words?: Plain;
  /** Drawn instead of the sign, where not every machine has a letter for it. */
  drawing?: TemplateResult;
  keys?: string;
  active?: (editor: Editor) => boolean;
  run: (editor: Editor) => unknown;
}

/** Two links of a chain. */
export const chain: TemplateResult = html`<svg viewBox="0 0 24 24" width="16" height="16">
  ${svg`<g transform="rotate(-45 12 12)" fill="none" stroke="currentColor" stroke-width="2">
    <rect x="1.5" y="8" width="12" height="8" rx="4" /><rect x="10.5" y="8" width="12" height="8" rx="4" />
  </g>`}
</svg>`;

const toggle = (label: Plain, sign: string, name: string, run: Action["run"], keys?: string): Action => ({
  label,
  sign,
  active: (editor) => editor.isActive(name),
  run,
  ...(keys ? { keys } : {}),
});

const heading = (level: 1 | 2 | 3): Action => ({
  label: `editor.heading${level}`,
  sign: `H${level}`,
  keys: `Control+Alt+${level}`,
  active: (editor) => editor.isActive("heading", { level }),
  run: (editor) => editor.chain().focus().toggleHeading({ level }).run(),
});

export const ACTIONS: Action[] = [
  toggle("editor.bold", "B", "bold", (e) => e.chain().focus().toggleBold().run(), "Control+B"),
  toggle("editor.italic", "I", "italic", (e) => e.chain().focus().toggleItalic().run(), "Control+I"),
  toggle("editor.underline", "U", "underline", (e) => e.chain().focus().toggleUnderline().run(), "Control+U"),
  toggle("editor.strike", "S", "strike", (e) => e.chain().focus().toggleStrike().run(), "Control+Shift+S"),
  toggle("editor.code", "<>", "code", (e) => e.chain().focus().toggleCode().run(), "Control+E"),
  heading(1),
  heading(2),
  heading(3),
  toggle("editor.list", "•", "bulletList", (e) => e.chain().focus().toggleBulletList().run(), "Control+Shift+8"),
  toggle("editor.numbered", "1.", "orderedList", (e) => e.chain().focus().toggleOrderedList().run(), "Control+Shift+7"),
  toggle("editor.checklist", "☑", "taskList", (e) => e.chain().focus().toggleTaskList().run(), "Control+Shift+9"),
  toggle("editor.quote", "❝", "blockquote", (e) => e.chain().focus().toggleBlockquote().run(), "Control+Shift+B"),
  toggle("editor.code_block", "{ }", "codeBlock", (e) => e.chain().focus().toggleCodeBlock().run(), "Control+Alt+C"),
  { label: "editor.rule", sign: "―", run: (e) => e.chain().focus().setHorizontalRule().run() },
  {
    label: "editor.table",
    sign: "▦",
    active: (e) => e.isActive("table"),
    // no table in a table
    run: (e) => e.isActive("table") || e.chain().focus().insertTable({ rows: 3, cols: 3, withHeaderRow: true }).run(),
  },
  { label: "editor.undo", sign: "↶", keys: "Control+Z", run: (e) => e.chain().focus().undo().run() },
  { label: "editor.redo", sign: "↷", keys: "Control+Shift+Z", run: (e) => e.chain().focus().redo().run() },
];

/** What there is besides while the caret is in a table. */
export const TABLE_ACTIONS: Action[] = [
  { label: "editor.row_add", sign: "+↓", words: "editor.row_add_short", run: (e) => e.chain().focus().addRowAfter().run() },
  { label: "editor.column_add", sign: "+→", words: "editor.column_add_short", run: (e) => e.chain().focus().addColumnAfter().run() },
  { label: "editor.row_remove", sign: "−↓", words: "editor.row_remove_short", run: (e) => e.chain().focus().deleteRow().run() },
  { label: "editor.column_remove", sign: "−→", words: "editor.column_remove_short", run: (e) => e.chain().focus().deleteColumn().run() },
  { label: "editor.table_remove", sign: "✕▦", words: "editor.table_remove_short", run: (e) => e.chain().focus().deleteTable().run() },
];
