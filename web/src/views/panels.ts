/** The parts of a task, of which a narrow screen shows one. */

import { html, type TemplateResult } from "lit";

import { say, type Plain } from "../words/language";

export const PANELS = ["talk", "document", "ledger"] as const;
export type Panel = (typeof PANELS)[number];
const NAMES: Record<Panel, Plain> = { talk: "panel.talk", document: "panel.document", ledger: "panel.ledger" };

export function panelNav(shown: Panel, show: (panel: Panel) => void): TemplateResult {
  return html`<nav class="panel-nav" aria-label=${say("panel.nav")}>
    ${PANELS.map(
      (one) =>
        html`<button type="button" data-shows=${one} aria-current=${one === shown ? "page" : "false"} @click=${() => show(one)}>
          ${say(NAMES[one])}
        </button>`,
    )}
  </nav>`;
}
