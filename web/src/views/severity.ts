/** How grave it is if a constraint is broken, in words. */

import { html, nothing } from "lit";

import { say, type Plain } from "../words/language";

export function severityView(severity: string) {
  if (severity === "normal") return nothing;
  const known: Record<string, Plain> = { critical: "severity.critical", important: "severity.important" };
  const key = known[severity];
  return html`<span class="badge severity-${key ? severity : "other"}">${key ? say(key) : severity}</span>`;
}
