/**
 * A task's documents: which there are, the title of the one that is open, and the editor over its body, which is loaded when
 * it is needed. Owns which one is shown; must never redraw for a letter in a body.
 */

import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";
import type * as Y from "yjs";

import { putBack, takeBack, type Writer } from "../doc/entries";
import { addDocument, readDocuments, root, type TaskDocument } from "../doc/schema";
import { bindText } from "../doc/text_change";
import type { TaskSync } from "../sync/task_sync";
import { say } from "../words/language";
import type { Beginning, TaskEditor } from "./editor";
import { PageElement, whyOf } from "./element";

/** Fields of a document whose changes are seen outside of its body. */
const SHOWN = new Set<string | number>(["title", "retired"]);

export class DocumentsView extends PageElement {
  static override properties = {
    sync: { attribute: false },
    who: { attribute: false },
    editable: { type: Boolean },
    chosen: {},
    place: { attribute: false },
    failure: { state: true },
  };

  declare sync: TaskSync;
  declare who: Writer;
  declare editable: boolean;
  /** The id of the document to show; the first where there is no such one. */
  declare chosen: string;
  /** Where to begin, in that document. */
  declare place: ({ document: string } & Beginning) | null;
  declare failure: string;
  #unbind: (() => void) | null = null;
  #bound: { title: Y.Text; field: HTMLInputElement } | null = null;
  /** The document that was shown last: it stays when somebody else takes it away, for one may be writing in it. */
  #last = "";

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
    const every = readDocuments(this.sync.doc);
    const [all, removed] = [every.filter((one) => !one.isRetired), every.filter((one) => one.isRetired)];
    const shown = this.#shownOf(every);
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
      ${shown?.isRetired ? html`<p class="notice" role="status">${say("document.is_removed")} ${this.#back(shown)}</p>` : nothing}
      ${shown ? this.#sheet(shown) : html`<p class="quiet">${say("document.none")}</p>`}
      ${this.editable && shown && !shown.isRetired ? this.#foot(shown) : nothing} ${removed.length ? this.#removed(removed) : nothing}`;
  }

  /** A button of each document's own: a key that is held down, or a second click, must not take away the next one, too. */
  #foot({ id }: TaskDocument) {
    const remove = ({ detail }: MouseEvent): void => void (detail > 1 || this.#remove(id));
    return keyed(
      id,
      html`<p class="document-foot"><button type="button" class="link" @click=${remove}>${say("document.remove")}</button></p>`,
    );
  }

  #removed(removed: TaskDocument[]) {
    return html`<details class="removed">
      <summary>${say("document.removed", { n: removed.length })}</summary>
      <ul>
        ${removed.map(
          (one) => html`<li>
            <button type="button" class="link" @click=${() => this.#choose(one.id)}>${one.title.toString() || say("document.untitled")}</button>
            ${this.#back(one)}
          </li>`,
        )}
      </ul>
    </details>`;
  }

  #back({ id }: TaskDocument) {
    if (!this.editable) return nothing;
    const back = (): void => {
      putBack(this.sync.doc, "documents", id);
      this.#choose(id);
    };
    return html`<button type="button" @click=${back}>${say("ledger.put_back")}</button>`;
  }

  #remove(id: string): void {
    takeBack(this.sync.doc, "documents", id, this.who);
    this.#last = "";
    this.#choose(readDocuments(this.sync.doc).find((one) => !one.isRetired)?.id ?? "");
  }

  protected override updated(): void {
    const field = this.querySelector<HTMLInputElement>("#document-title");
    const shown = this.#shownOf(readDocuments(this.sync.doc));
    this.#last = shown?.id ?? "";
    const title = shown?.title;
    if (title === this.#bound?.title && field === (this.#bound?.field ?? null)) return;
    this.#release();
    if (!title || !field) return;
    this.#bound = { title, field };
    this.#unbind = bindText(field, title);
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

  #shownOf(every: TaskDocument[]): TaskDocument | undefined {
    const find = (id: string): TaskDocument | undefined => every.find((one) => one.id === id);
    return find(this.chosen) ?? find(this.#last) ?? every.find((one) => !one.isRetired);
  }

  #choose(id: string): void {
    this.chosen = id;
    this.dispatchEvent(new CustomEvent("chosen", { detail: id, bubbles: true }));
    this.dispatchEvent(new CustomEvent("moved", { bubbles: true }));
  }

  readonly #add = (): void => this.#choose(addDocument(this.sync.doc, ""));

  readonly #heard = (events: Y.YEvent<Y.AbstractType<unknown>>[], transaction: Y.Transaction): void => {
    // every letter of a body comes by here too: only titles and entries change what this view shows
    const isShown = ({ path }: Y.YEvent<Y.AbstractType<unknown>>): boolean => path.length < 2 || SHOWN.has(path[1]!);
    if (events.some(isShown)) this.requestUpdate();
    if (!transaction.local) this.dispatchEvent(new CustomEvent("wrote", { bubbles: true }));
  };

  #release(): void {
    this.#unbind?.();
    this.#unbind = null;
    this.#bound = null;
  }
}

customElements.define("clew-documents", DocumentsView);
