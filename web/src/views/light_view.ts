/** The saved light in words. Owns what each state is called; must never sound better than the state is. */

import { html, type TemplateResult } from "lit";

import type { Shown } from "../sync/light";
import type { Keeping } from "../sync/local_copy";
import { say } from "../words/language";

export function wordsOf(shown: Shown, keeping: Keeping): string {
  switch (shown.kind) {
    case "opening":
      return say("light.opening");
    case "saved":
      return say("light.saved");
    case "saving":
      return say("light.saving");
    case "offline":
      if (!shown.unsaved) return say("light.offline");
      return say(
        keeping === "failed" ? "light.offline_tab" : keeping === "kept" ? "light.offline_kept" : "light.offline_keeping",
      );
    case "refused":
      return say("light.refused", { why: shown.why });
  }
}

export function lightView(shown: Shown, keeping: Keeping): TemplateResult {
  return html`<p class="light light-${shown.kind}" data-light=${shown.kind}>
    <span class="lamp" aria-hidden="true"></span><span>${wordsOf(shown, keeping)}</span>
  </p>`;
}
