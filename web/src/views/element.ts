/** A Lit element in light DOM: one style sheet, one selection, and focus that behaves. */

import { LitElement } from "lit";

export class PageElement extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** What the page says to its own frame. */
export interface PageEvents {
  "signed-out": CustomEvent<string>;
  go: CustomEvent<string>;
}

export function go(from: HTMLElement, path: string): void {
  from.dispatchEvent(new CustomEvent("go", { detail: path, bubbles: true }));
}

export function signedOut(from: HTMLElement, why: string): void {
  from.dispatchEvent(new CustomEvent("signed-out", { detail: why, bubbles: true }));
}
