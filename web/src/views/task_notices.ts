/** What is said when the way to the server is closed. The words stay, and stay editable. */

import { html, type TemplateResult } from "lit";

import { say } from "../words/language";

export function signInAgain(goOn: () => void): TemplateResult {
  return html`<div class="failure" role="alert">
    <p>${say("signed_out.here")} <code>clew link</code></p>
    <button type="button" @click=${goOn}>${say("signed_out.go_on")}</button>
  </div>`;
}

export function awayView(isOnlyHere: boolean, retry: () => void): TemplateResult {
  return html`<p class="notice" role="status">
    ${say(isOnlyHere ? "away.tab" : "away.kept")} <button type="button" @click=${retry}>${say("again")}</button>
  </p>`;
}
