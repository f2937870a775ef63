/**
 * The rich text editor over one document's body. Owns the editor and its bar; loaded only when a task is opened. Must never
 * be given a body of a schema that it does not know.
 */

import { Editor, getSchema } from "@tiptap/core";
import { Collaboration } from "@tiptap/extension-collaboration";
import { CollaborationCaret } from "@tiptap/extension-collaboration-caret";
import { html, nothing, type PropertyValues } from "lit";
import type * as Y from "yjs";

import { editorSchema } from "../doc/editor_schema";
import type { TaskSync } from "../sync/task_sync";
import { PageElement } from "./element";
import { toneOf } from "./people";

/**
 * Undoing the making of a list, a quote or a cell must not take the words with it that others have put there since: a node
 * is only undone away once it is empty. (By default that holds for paragraphs alone.)
 */
const nodeNames = Object.keys(getSchema(editorSchema()).nodes);

interface Action {
  label: string;
  sign: string;
  keys?: string;
  active?: (editor: Editor) => boolean;
  run: (editor: Editor) => boolean;
}

const ACTIONS: Action[] = [
  { label: "Bold", sign: "B", keys: "Control+B", active: (e) => e.isActive("bold"), run: (e) => e.chain().focus().toggleBold().run() },
  { label: "Italic", sign: "I", keys: "Control+I", active: (e) => e.isActive("italic"), run: (e) => e.chain().focus().toggleItalic().run() },
  { label: "Heading", sign: "H", active: (e) => e.isActive("heading"), run: (e) => e.chain().focus().toggleHeading({ level: 2 }).run() },
  { label: "List", sign: "•", active: (e) => e.isActive("bulletList"), run: (e) => e.chain().focus().toggleBulletList().run() },
  { label: "Checklist", sign: "☑", active: (e) => e.isActive("taskList"), run: (e) => e.chain().focus().toggleTaskList().run() },
  { label: "Undo", sign: "↶", keys: "Control+Z", run: (e) => e.chain().focus().undo().run() },
  { label: "Redo", sign: "↷", keys: "Control+Shift+Z", run: (e) => e.chain().focus().redo().run() },
];

export class TaskEditor extends PageElement {
  static override properties = { body: { attribute: false }, sync: { attribute: false }, editable: { attribute: false }, label: {} };

  declare body: Y.XmlFragment;
  declare sync: TaskSync;
  declare editable: boolean;
  declare label: string;
  #editor: Editor | null = null;

  override render() {
    return html`${this.editable ? this.#bar() : nothing}<div class="sheet"></div>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has("body")) this.#mount();
    else if (changed.has("editable")) this.#editor?.setEditable(this.editable);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated && !this.#editor) this.#mount();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#editor?.destroy();
    this.#editor = null;
  }

  #bar() {
    return html`<div class="bar" role="toolbar" aria-label="Formatting">
      ${ACTIONS.map(
        (action) => html`<button
          type="button"
          title=${action.label}
          aria-label=${action.label}
          aria-keyshortcuts=${action.keys ?? nothing}
          aria-pressed=${action.active ? String(Boolean(this.#editor && action.active(this.#editor))) : nothing}
          @mousedown=${(event: Event) => event.preventDefault()}
          @click=${() => this.#editor && action.run(this.#editor)}
        >
          <span aria-hidden="true" class="sign-${action.label.toLowerCase()}">${action.sign}</span>
        </button>`,
      )}
    </div>`;
  }

  #mount(): void {
    this.#editor?.destroy();
    const { awareness } = this.sync;
    this.#editor = new Editor({
      element: this.querySelector<HTMLElement>(".sheet")!,
      injectCSS: false,
      editable: this.editable,
      extensions: [
        ...editorSchema(),
        Collaboration.configure({ fragment: this.body, yUndoOptions: { protectedNodes: new Set(nodeNames) } }),
        CollaborationCaret.configure({
          provider: { awareness },
          user: awareness.getLocalState()?.["user"] as Record<string, unknown>,
          render: caretOf,
          selectionRender: (user: Record<string, unknown>) => ({ nodeName: "span", class: `theirs tone-${toneOf(user)}` }),
        }),
      ],
      editorProps: { attributes: { role: "textbox", "aria-multiline": "true", "aria-label": this.label, class: "words" } },
      onTransaction: () => this.requestUpdate(),
    });
    this.requestUpdate();
  }
}

/** Somebody's caret: a bar in their tone, and their name. */
function caretOf(user: Record<string, unknown>): HTMLElement {
  const caret = document.createElement("span");
  caret.className = `caret tone-${toneOf(user)}`;
  // drawn from the attribute by the style sheet, so that it is no part of the words that one selects or copies
  caret.dataset["name"] = String(user["name"] ?? "").slice(0, 40);
  return caret;
}

customElements.define("clew-editor", TaskEditor);
