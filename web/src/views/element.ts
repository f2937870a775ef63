/** A Lit element in light DOM: one style sheet, one selection, and focus that behaves. Speaks the page's language anew at a change. */

import { LitElement } from "lit";

import { Problem, type Api } from "../sync/api";
import { onLanguage, say } from "../words/language";
import { ruleOf } from "./access_words";
import { growAll } from "./growing";
import { HeldFocus } from "./held_focus";

export class PageElement extends LitElement {
  #unhear: (() => void) | null = null;
  readonly #focus = new HeldFocus(this);

  override connectedCallback(): void {
    super.connectedCallback();
    this.#unhear = onLanguage(() => this.requestUpdate());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unhear?.();
  }

  protected override performUpdate(): void {
    this.#focus.note();
    super.performUpdate();
    growAll(this);
    this.#focus.settle();
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }
}

/** Milliseconds between two looks at what others may have changed meanwhile. */
export const NOW_AND_THEN = 10_000;

/** Between two looks at the clock, by which what is said of a moment grows old. */
export const MINUTE = 60_000;

/** Look again whenever one comes back to the tab, and at times too where it is said how often; returns how to stop. */
export function whileSeen(look: () => unknown, every?: number): () => void {
  const seen = (): void => void (document.hidden || look());
  const timer = every === undefined ? undefined : setInterval(seen, every);
  addEventListener("focus", seen);
  document.addEventListener("visibilitychange", seen);
  return () => {
    clearInterval(timer);
    removeEventListener("focus", seen);
    document.removeEventListener("visibilitychange", seen);
  };
}

/** What the page says to its own frame. */
export interface PageEvents {
  "signed-out": CustomEvent<string>;
  revoked: CustomEvent<string | null>;
  go: CustomEvent<string>;
}

export function go(from: HTMLElement, path: string): void {
  from.dispatchEvent(new CustomEvent("go", { detail: path, bubbles: true }));
}

export function signedOut(from: HTMLElement, why: string): void {
  from.dispatchEvent(new CustomEvent("signed-out", { detail: why, bubbles: true }));
}

/** Say that this device was signed out from another; `words` were not sent, as far as a task was open to tell. */
export function revoked(from: HTMLElement, words: string | null): void {
  from.dispatchEvent(new CustomEvent("revoked", { detail: words, bubbles: true }));
}

/** Follow a link inside the page, unless it is meant for another tab. */
export function follow(from: HTMLElement, event: MouseEvent, path: string): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  go(from, path);
}

/** A failure in the page's own words; the server's where only it knows. */
export function whyOf(error: unknown): string {
  if (!(error instanceof Problem)) return error instanceof Error ? error.message : String(error);
  if (error.status === 0 || error.code === "unavailable") return say("problem.unavailable");
  if (error.code === "not_found") return say("problem.not_found");
  const rule = ruleOf(error);
  if (rule) return rule;
  if (error.code === "forbidden") return say("problem.forbidden");
  return error.why;
}

/** Whether this device was signed out from another, and so shall keep nothing. */
export function isRevoked(error: unknown): boolean {
  return isSignedOut(error) && error.reason === "revoked";
}

/** Whether this device is signed out, and how, as the server says now. */
export async function howSignedOut(api: Api): Promise<"out" | "revoked" | null> {
  try {
    await api.me();
    return null;
  } catch (error) {
    return isRevoked(error) ? "revoked" : isSignedOut(error) ? "out" : null;
  }
}

export function isSignedOut(error: unknown): error is Problem {
  return error instanceof Problem && error.code === "unauthenticated";
}
