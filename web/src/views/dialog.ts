/**
 * A dialog over the page: focus stays inside, Escape closes it, and focus goes back to where it was. Owns the frame; whoever
 * opened it hears `closed` and takes it out of the page, with all that stood in it.
 */

import { html, type TemplateResult } from "lit";

import { say } from "../words/language";
import { PageElement, whyOf } from "./element";

export abstract class PageDialog extends PageElement {
  static override properties = { said: { state: true }, failure: { state: true }, isBusy: { state: true } };

  /** What was done, and what could not be, in words. */
  declare said: string;
  declare failure: string;
  declare isBusy: boolean;
  #from: HTMLElement | null = null;

  constructor() {
    super();
    this.said = "";
    this.failure = "";
    this.isBusy = false;
  }

  protected abstract heading(): string;
  protected abstract content(): TemplateResult;

  override render() {
    return html`<dialog class="dialog" aria-labelledby="dialog-title" @close=${this.#closed}>
      <div class="dialog-head">
        <h2 id="dialog-title">${this.heading()}</h2>
        <button type="button" @click=${() => this.close()}>${say("close")}</button>
      </div>
      <p class="failure" role="alert" ?hidden=${!this.failure}>${this.failure}</p>
      <p class="quiet" role="status">${this.said}</p>
      ${this.content()}
    </dialog>`;
  }

  protected override firstUpdated(): void {
    this.#from = opener();
    this.querySelector("dialog")!.showModal();
  }

  close(): void {
    this.querySelector("dialog")?.close();
  }

  /** Do one thing at a time, and say what came of it. */
  protected async attempt(act: () => Promise<string>, explain: (error: unknown) => string = whyOf): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    this.failure = "";
    this.said = "";
    try {
      this.said = await act();
    } catch (error) {
      this.failure = explain(error);
    } finally {
      this.isBusy = false;
    }
  }

  readonly #closed = (): void => {
    if (this.#from?.isConnected) this.#from.focus();
    this.dispatchEvent(new CustomEvent("closed"));
  };
}

/** What had the keys; of a menu that is closed by now, the button that opens it. */
function opener(): HTMLElement | null {
  const one = document.activeElement;
  const menu = one?.closest("[popover]");
  return menu ? document.querySelector(`[popovertarget="${menu.id}"]`) : one instanceof HTMLElement ? one : null;
}
