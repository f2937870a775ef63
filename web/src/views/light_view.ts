/** The saved light in words. Owns what each state is called; must never sound better than the state is. */

import { html, type TemplateResult } from "lit";

import type { Shown } from "../sync/light";

export function wordsOf(shown: Shown): string {
  switch (shown.kind) {
    case "opening":
      return "Opening…";
    case "saved":
      return "Saved";
    case "saving":
      return "Saving…";
    case "offline":
      return shown.unsaved ? "Offline: kept in this tab only" : "Offline";
    case "refused":
      return `Cannot save: ${shown.why}`;
  }
}

export function lightView(shown: Shown): TemplateResult {
  return html`<p class="light light-${shown.kind}" role="status" data-light=${shown.kind}>
    <span class="lamp" aria-hidden="true"></span>${wordsOf(shown)}
  </p>`;
}
