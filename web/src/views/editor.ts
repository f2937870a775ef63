/**
 * The rich text editor over one document's body. Owns the editor and its bar; loaded only when a task is opened. Must never
 * be given a body of a schema that it does not know.
 */

import { Editor } from "@tiptap/core";
import { CollaborationCaret } from "@tiptap/extension-collaboration-caret";
import { html, nothing, type PropertyValues } from "lit";
import type * as Y from "yjs";

import { collaboration } from "../doc/collaboration";
import { editorSchema } from "../doc/editor_schema";
import type { TaskSync } from "../sync/task_sync";
import { say, type Plain } from "../words/language";
import { PageElement } from "./element";
import { toneOf } from "./people";

interface Action {
  label: Plain;
  sign: string;
  keys?: string;
  active?: (editor: Editor) => boolean;
  run: (editor: Editor) => boolean;
}

const ACTIONS: Action[] = [
  {
    label: "editor.bold",
    sign: "B",
    keys: "Control+B",
    active: (e) => e.isActive("bold"),
    run: (e) => e.chain().focus().toggleBold().run(),
  },
  {
    label: "editor.italic",
    sign: "I",
    keys: "Control+I",
    active: (e) => e.isActive("italic"),
    run: (e) => e.chain().focus().toggleItalic().run(),
  },
  {
    label: "editor.heading",
    sign: "H",
    active: (e) => e.isActive("heading"),
    run: (e) => e.chain().focus().toggleHeading({ level: 2 }).run(),
  },
  {
    label: "editor.list",
    sign: "•",
    active: (e) => e.isActive("bulletList"),
    run: (e) => e.chain().focus().toggleBulletList().run(),
  },
  {
    label: "editor.checklist",
    sign: "☑",
    active: (e) => e.isActive("taskList"),
    run: (e) => e.chain().focus().toggleTaskList().run(),
  },
  { label: "editor.undo", sign: "↶", keys: "Control+Z", run: (e) => e.chain().focus().undo().run() },
  { label: "editor.redo", sign: "↷", keys: "Control+Shift+Z", run: (e) => e.chain().focus().redo().run() },
];

export class TaskEditor extends PageElement {
  static override properties = {
    body: { attribute: false },
    sync: { attribute: false },
    editable: { attribute: false },
    label: {},
    at: { state: true },
  };

  declare body: Y.XmlFragment;
  declare sync: TaskSync;
  declare editable: boolean;
  declare label: string;
  /** The button of the bar that the Tab key goes to. */
  declare at: number;
  #editor: Editor | null = null;

  constructor() {
    super();
    this.editable = false; // nobody may write where nobody has said so
    this.at = 0;
  }

  override render() {
    return html`${this.editable ? this.#bar() : nothing}
      <div class="sheet"></div>`;
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

  /** One stop for the Tab key; arrows go from button to button (ARIA's toolbar). */
  #bar() {
    return html`<div class="bar" role="toolbar" aria-label=${say("editor.bar")} @keydown=${this.#step}>
      ${ACTIONS.map(
        (action, index) =>
          html`<button
            type="button"
            tabindex=${index === this.at ? 0 : -1}
            title=${say(action.label)}
            aria-label=${say(action.label)}
            aria-keyshortcuts=${action.keys ?? nothing}
            aria-pressed=${action.active ? String(Boolean(this.#editor && action.active(this.#editor))) : nothing}
            @mousedown=${(event: Event) => event.preventDefault()}
            @click=${() => this.#editor && action.run(this.#editor)}
          >
            <span aria-hidden="true" class="sign-${action.label.split(".")[1]}">${action.sign}</span>
          </button>`,
      )}
    </div>`;
  }

  readonly #step = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.at = (this.at + step + ACTIONS.length) % ACTIONS.length;
    this.querySelectorAll<HTMLElement>(".bar button")[this.at]?.focus();
  };

  #mount(): void {
    this.#editor?.destroy();
    const { awareness } = this.sync;
    this.#editor = new Editor({
      element: this.querySelector<HTMLElement>(".sheet")!,
      injectCSS: false,
      editable: this.editable,
      extensions: [
        ...editorSchema(),
        ...collaboration(this.body),
        CollaborationCaret.configure({
          provider: { awareness },
          user: awareness.getLocalState()?.["user"] as Record<string, unknown>,
          render: caretOf,
          selectionRender: (user: Record<string, unknown>) => ({ nodeName: "span", class: `theirs tone-${toneOf(user)}` }),
        }),
      ],
      editorProps: {
        attributes: {
          role: "textbox",
          "aria-multiline": "true",
          "aria-label": this.label,
          "data-placeholder": say("document.write"),
          class: "words",
        },
      },
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
