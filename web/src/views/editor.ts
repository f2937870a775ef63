/**
 * The rich text editor over one document's body. Owns the editor and its bar; loaded only when a task is opened. Must never
 * be given a body of a schema that it does not know.
 */

import { Editor, Extension } from "@tiptap/core";
import { CollaborationCaret } from "@tiptap/extension-collaboration-caret";
import type { Node } from "@tiptap/pm/model";
import { Plugin } from "@tiptap/pm/state";
import { html, nothing, type PropertyValues } from "lit";
import type * as Y from "yjs";

import { isFollowable } from "../doc/addresses";
import { collaboration } from "../doc/collaboration";
import { tears } from "../doc/composing";
import { editorSchema } from "../doc/editor_schema";
import { isToEnd, toEndBehindTable } from "../doc/ending";
import { Pasting } from "../doc/pasting";
import { blockAt, PlaceMark, placeOf, putCaret } from "../doc/place";
import type { TaskSync } from "../sync/task_sync";
import { say } from "../words/language";
import { langOf } from "../words/script";
import { ACTIONS, chain, TABLE_ACTIONS, type Action } from "./editor_actions";
import { PageElement } from "./element";
import { linkField } from "./link_field";
import { toneOf } from "./people";

/** Where to begin: at that place; `isBrought` if one comes from another device and has seen nothing of it yet. */
export interface Beginning {
  caret: unknown;
  isBrought: boolean;
}

/** So much of a document's beginning tells in which language it is. */
const SAMPLE = 2_000;
/** ProseMirror reads the last of a composed word this long after its end. */
const COMPOSED = 60;

const isBare = ({ childCount, firstChild }: Node): boolean =>
  childCount === 1 && firstChild?.type.name === "paragraph" && !firstChild.content.size;

/**
 * In which language the words are, for who reads them out, and whether there are none yet. (WebKit does not look again at a
 * `:has()` with `:only-child` in it when siblings come, and wrote "Write here…" above what had been loaded.)
 */
const Described = Extension.create({
  name: "described",
  addProseMirrorPlugins: () => [
    new Plugin({
      props: {
        attributes: ({ doc }): Record<string, string> => {
          const lang = langOf(doc.textBetween(0, Math.min(doc.content.size, SAMPLE), " "));
          return { ...(lang ? { lang } : {}), ...(isBare(doc) ? { "data-bare": "" } : {}) };
        },
      },
    }),
  ],
});

export class TaskEditor extends PageElement {
  static override properties = {
    body: { attribute: false },
    sync: { attribute: false },
    editable: { attribute: false },
    label: {},
    beginning: { attribute: false },
    at: { state: true },
    link: { state: true },
  };

  declare body: Y.XmlFragment;
  declare sync: TaskSync;
  declare editable: boolean;
  declare label: string;
  declare beginning: Beginning | null;
  /** The button of the bar that the Tab key goes to. */
  declare at: number;
  /** Whether it is being asked where a link leads, or what was given is no address. */
  declare link: "closed" | "open" | "bad";
  /** After Escape the Tab key leaves the words, though it indents a list and walks a table otherwise. */
  #isLeaving = false;
  #editor: Editor | null = null;
  #caret: unknown = null;
  #told = "";
  #unhear: (() => void) | null = null;
  #unname: (() => void) | null = null;
  #letIn: (() => void) | null = null;

  constructor() {
    super();
    this.beginning = null;
    this.editable = false; // nobody may write where nobody has said so
    this.at = 0;
    this.link = "closed";
  }

  override render() {
    const editor = this.#editor;
    return html`${
        this.editable
          ? html`<div class="bar">
              ${this.#bar()}
              ${
                this.link !== "closed" && editor
                  ? linkField({
                      editor,
                      isBad: this.link === "bad",
                      fail: (isBad) => (this.link = isBad ? "bad" : "open"),
                      close: () => (this.link = "closed"),
                    })
                  : nothing
              }
            </div>`
          : nothing
      }
      <div class="sheet"></div>`;
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has("body")) this.#mount();
    else if (changed.has("editable")) this.#editor?.setEditable(this.editable);
    this.#retell();
  }

  #attributes(): Record<string, string> {
    return {
      role: "textbox",
      "aria-multiline": "true",
      "aria-label": this.label,
      "data-placeholder": say("document.write"),
      class: "words",
    };
  }

  /** The title, and the language that the page speaks, may be others by now. */
  #retell(): void {
    const editor = this.#editor;
    const told = `${this.label} ${say("document.write")}`;
    if (!editor || told === this.#told) return;
    this.#told = told;
    editor.setOptions({ editorProps: { ...editor.options.editorProps, attributes: this.#attributes() } });
  }

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.hasUpdated && !this.#editor) this.#mount();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unhear?.();
    this.#unname?.();
    this.#letIn?.();
    this.#editor?.destroy();
    this.#editor = null;
  }

  /** Where its person last put the caret, as plain data; null if they did not. */
  get caret(): unknown {
    return this.#caret;
  }

  get #actions(): Action[] {
    const link: Action = {
      label: "editor.link",
      sign: "",
      drawing: chain,
      keys: "Control+K",
      active: (editor) => editor.isActive("link"),
      run: () => this.#askLink(),
    };
    const [marks, rest] = [ACTIONS.slice(0, 5), ACTIONS.slice(5)];
    return [...marks, link, ...rest, ...(this.#editor?.isActive("table") ? TABLE_ACTIONS : [])];
  }

  /**
   * One stop for the Tab key; arrows go from button to button (ARIA's toolbar). In Firefox whatever scrolls is a stop of its
   * own, unless it says that it is none.
   */
  #bar() {
    const actions = this.#actions;
    const at = Math.min(this.at, actions.length - 1);
    return html`<div class="tools" role="toolbar" tabindex="-1" aria-label=${say("editor.bar")} @keydown=${this.#step}>
      ${actions.map(
        (action, index) =>
          html`<button
            type="button"
            class=${action.words ? "worded" : nothing}
            tabindex=${index === at ? 0 : -1}
            title=${say(action.label)}
            aria-label=${say(action.label)}
            aria-keyshortcuts=${action.keys ?? nothing}
            aria-pressed=${action.active ? String(Boolean(this.#editor && action.active(this.#editor))) : nothing}
            @mousedown=${(event: Event) => event.preventDefault()}
            @focus=${() => (this.at = index)}
            @click=${() => this.#editor && action.run(this.#editor)}
          >
            <span aria-hidden="true" class="sign sign-${action.label.split(".")[1]}" data-sign=${action.words ? say(action.words) : action.sign}
              >${action.drawing ?? nothing}</span
            >
          </button>`,
      )}
    </div>`;
  }

  readonly #step = (event: KeyboardEvent): void => {
    const buttons = [...this.querySelectorAll<HTMLElement>(".tools button")];
    const at = Math.min(this.at, buttons.length - 1);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape") this.#editor?.commands.focus();
    if (next === undefined) return;
    event.preventDefault();
    buttons.at(next % buttons.length)?.focus();
  };

  #askLink(): void {
    if (!this.editable) return;
    this.link = "open";
    void this.updateComplete.then(() => this.querySelector<HTMLInputElement>("#link-address")?.select());
  }

  /** Before the editor's own keys. Returning true leaves the key to the browser. */
  readonly #pressed = (event: KeyboardEvent): boolean => {
    const isLeaving = this.#isLeaving && event.key === "Tab";
    if (event.key !== "Shift") this.#isLeaving = event.key === "Escape";
    if ((event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.#askLink();
      return true;
    }
    if (isToEnd(event) && this.#editor && toEndBehindTable(this.#editor)) {
      event.preventDefault();
      return true;
    }
    if (event.altKey && event.key === "F10" && this.editable) {
      event.preventDefault();
      this.querySelector<HTMLElement>(".tools [tabindex='0']")?.focus();
      return true;
    }
    return isLeaving;
  };

  /** A link in words that one may change is followed with Ctrl or Cmd, as elsewhere; in others the browser follows it. */
  readonly #clicked = (event: MouseEvent): boolean => {
    const href = (event.target as Element).closest?.("a")?.getAttribute("href");
    if (!this.editable || !(event.metaKey || event.ctrlKey) || !isFollowable(href)) return false;
    event.preventDefault();
    open(href, "_blank", "noopener,noreferrer");
    return true;
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
        Pasting,
        PlaceMark,
        Described,
        ...collaboration(this.body),
        CollaborationCaret.configure({
          provider: { awareness },
          user: awareness.getLocalState()?.["user"] as Record<string, unknown>,
          render: caretOf,
          selectionRender: (user: Record<string, unknown>) => ({ nodeName: "span", class: `theirs tone-${toneOf(user)}` }),
        }),
      ],
      editorProps: {
        handleDOMEvents: {
          keydown: (_, event) => this.#pressed(event),
          click: (_, event) => this.#clicked(event),
          compositionstart: () => this.#compose(),
          compositionend: () => this.#composed(),
        },
        attributes: this.#attributes(),
      },
      onTransaction: () => this.requestUpdate(),
      onSelectionUpdate: ({ editor }) => editor.isFocused && this.#moved(editor),
    });
    this.#unname?.();
    this.#unname = this.sync.on("presence", () => this.#nameCarets());
    if (this.beginning) this.#begin(this.#editor, this.beginning);
    this.requestUpdate();
  }

  /** The editor draws a caret once: whoever is called otherwise since is named anew, and who moves shows their name again. */
  #nameCarets(): void {
    for (const [client, state] of this.sync.awareness.getStates()) {
      const user = state["user"] as Record<string, unknown> | undefined;
      if (!user) continue;
      const place = JSON.stringify(state["cursor"] ?? null);
      const hasMoved = this.#places.get(client) !== place;
      this.#places.set(client, place);
      for (const caret of this.querySelectorAll<HTMLElement>(`.caret[data-person="${CSS.escape(keyOf(user))}"]`)) {
        if (caret.dataset["name"] !== nameOf(user)) caret.dataset["name"] = nameOf(user);
        if (hasMoved) caret.getAnimations({ subtree: true }).forEach(restart);
      }
    }
  }

  /** Where each caret was last. */
  readonly #places = new Map<number, string>();

  #moved(editor: Editor): void {
    this.#caret = placeOf(editor);
    this.dispatchEvent(new CustomEvent("moved", { bubbles: true }));
  }

  /** Put the caret where one was. The words may still be on their way; nobody who has moved meanwhile is moved again. */
  #begin(editor: Editor, { caret, isBrought }: Beginning): void {
    this.#unhear?.();
    const isTouch = matchMedia("(pointer: coarse)").matches;
    const begin = (): boolean => {
      if (this.#caret !== null || !putCaret(editor, caret, isBrought && isTouch ? say("document.place") : null)) return false;
      this.#caret = caret;
      if (isBrought && !isTouch) editor.view.focus(); // a phone would show its keyboard unasked
      requestAnimationFrame(() => this.#show(editor));
      return true;
    };
    if (begin()) return;
    this.#unhear = this.sync.on("synced", () => {
      this.#unhear?.();
      begin();
    });
  }

  #show(editor: Editor): void {
    if (editor.isDestroyed) return;
    const { node } = editor.view.domAtPos(editor.state.selection.head);
    const block = node instanceof Element ? node : node.parentElement;
    block?.scrollIntoView({ block: "center" });
  }

  /** While a word is being composed, what would tear it waits; what others write elsewhere does not. */
  #compose(): void {
    this.#letIn?.();
    const block = this.#editor && blockAt(this.#editor);
    this.#letIn = block ? this.sync.hold((update) => tears(update, block)) : null;
  }

  #composed(): void {
    const letIn = this.#letIn;
    setTimeout(() => letIn?.(), COMPOSED);
  }
}

const nameOf = (user: Record<string, unknown>): string => String(user["name"] ?? "").slice(0, 40);

const keyOf = (user: Record<string, unknown>): string => `${String(user["kind"])}:${String(user["id"])}`;

function restart(animation: Animation): void {
  animation.currentTime = 0;
  animation.play();
}

/** Somebody's caret: a bar in their tone, and their name. */
function caretOf(user: Record<string, unknown>): HTMLElement {
  const caret = document.createElement("span");
  caret.className = `caret tone-${toneOf(user)}`;
  // drawn from the attribute by the style sheet, so that it is no part of the words that one selects or copies
  caret.dataset["name"] = nameOf(user);
  caret.dataset["person"] = keyOf(user);
  return caret;
}

customElements.define("clew-editor", TaskEditor);
