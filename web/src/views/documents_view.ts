/**
 * A task's documents: which there are, the title of the one that is open, and the editor over its body, which is loaded when
 * it is needed. Owns which one is shown; must never redraw for a letter in a body.
 */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";
import type * as Y from "yjs";

import { addDocument, readDocuments, root, type TaskDocument } from "../doc/schema";
import { bindText } from "../doc/text_change";
import type { TaskSync } from "../sync/task_sync";
import { say } from "../words/language";
import type { Beginning, TaskEditor } from "./editor";
import { PageElement, whyOf } from "./element";

export class DocumentsView extends PageElement {
  static override properties = {
    sync: { attribute: false },
    editable: { type: Boolean },
    chosen: {},
    place: { attribute: false },
    failure: { state: true },
  };

  declare sync: TaskSync;
  declare editable: boolean;
  /** The id of the document to show; the first where there is no such one. */
  declare chosen: string;
  /** Where to begin, in that document. */
  declare place: ({ document: string } & Beginning) | null;
  declare failure: string;
  #unbind: (() => void) | null = null;
  #bound: Y.Text | null = null;

  constructor() {
    super();
    this.editable = false;
    this.chosen = "";
    this.place = null;
    this.failure = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    root(this.sync.doc, "documents").observeDeep(this.#heard);
    import("./editor").then(
      () => this.requestUpdate(),
      (error: unknown) => (this.failure = whyOf(error)),
    );
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    root(this.sync.doc, "documents").unobserveDeep(this.#heard);
    this.#release();
  }

  override render() {
    const all = readDocuments(this.sync.doc);
    const shown = this.#shownOf(all);
    return html`<nav class="tabs" tabindex="-1" aria-label=${say("document.all")}>
        ${all.map(
          (one) =>
            html`<button
              type="button"
              aria-current=${one.id === shown?.id ? "page" : "false"}
              @click=${() => this.#choose(one.id)}
            >
              ${one.title.toString() || say("document.untitled")}
            </button>`,
        )}
        ${this.editable ? html`<button type="button" class="add" @click=${this.#add}>${say("document.add")}</button>` : nothing}
      </nav>
      ${shown ? this.#sheet(shown) : html`<p class="quiet">${say("document.none")}</p>`}`;
  }

  protected override updated(): void {
    const field = this.querySelector<HTMLInputElement>("#document-title");
    const title = this.#shownOf(readDocuments(this.sync.doc))?.title ?? null;
    if (!field || title === this.#bound) return;
    this.#release();
    this.#bound = title;
    if (title) this.#unbind = bindText(field, title);
  }

  #sheet({ id, title, body }: TaskDocument) {
    const label = title.toString() || say("document.one");
    return html`<label class="unseen" for="document-title">${say("document.title")}</label>
      <input
        id="document-title"
        class="document-title"
        placeholder=${say("document.untitled")}
        autocomplete="off"
        ?readonly=${!this.editable}
      />
      ${
        customElements.get("clew-editor")
          ? keyed(
              id,
              html`<clew-editor
                .body=${body}
                .sync=${this.sync}
                .editable=${this.editable}
                .label=${label}
                .beginning=${this.place?.document === id ? this.place : null}
              ></clew-editor>`,
            )
          : html`<p class="quiet">${this.failure || say("loading")}</p>`
      }`;
  }

  /** Which document is shown, and where in it its person last put the caret; null for nowhere. */
  get whereabouts(): { document: string; caret: unknown } {
    const document = this.#shownOf(readDocuments(this.sync.doc))?.id ?? "";
    return { document, caret: this.querySelector<TaskEditor>("clew-editor")?.caret ?? null };
  }

  #shownOf(all: TaskDocument[]): TaskDocument | undefined {
    return all.find((one) => one.id === this.chosen) ?? all[0];
  }

  #choose(id: string): void {
    this.chosen = id;
    this.dispatchEvent(new CustomEvent("chosen", { detail: id, bubbles: true }));
    this.dispatchEvent(new CustomEvent("moved", { bubbles: true }));
  }

  readonly #add = (): void => this.#choose(addDocument(this.sync.doc, ""));

  readonly #heard = (events: Y.YEvent<Y.AbstractType<unknown>>[], transaction: Y.Transaction): void => {
    // every letter of a body comes by here too: only titles and entries change what this view shows
    if (events.some((event) => event.path.length < 2 || event.path.at(1) === "title")) this.requestUpdate();
    if (!transaction.local) this.dispatchEvent(new CustomEvent("wrote", { bubbles: true }));
  };

  #release(): void {
    this.#unbind?.();
    this.#unbind = null;
    this.#bound = null;
  }
}

customElements.define("clew-documents", DocumentsView);
