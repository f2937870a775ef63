/** Small words beside an entry: how it stands, how grave it is. */

import { html, nothing, type TemplateResult } from "lit";

import { say, type Plain } from "../words/language";

export function severityView(severity: string) {
  if (severity === "normal") return nothing;
  const known: Record<string, Plain> = { critical: "severity.critical", important: "severity.important" };
  const key = known[severity];
  return html`<span class="badge severity-${key ? severity : "other"}">${key ? say(key) : severity}</span>`;
}

export function badgeView(name: Plain): TemplateResult {
  return html`<span class="badge">${say(name)}</span>`;
}
