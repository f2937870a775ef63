/** What is said when the way to the server is closed. The words stay, and stay editable. */

import { html, type TemplateResult } from "lit";

import type { LocalCopy } from "../sync/local_copy";
import { say } from "../words/language";
import { saveFile } from "./saving";

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

/** Some of what this device kept cannot be read. The task is whole; what was only here may be in those bytes, and is no one's to drop. */
export function brokenCopy(copy: LocalCopy, nameOf: () => string): TemplateResult {
  const download = async (): Promise<void> => {
    const records = (await copy.records()).map((one) => btoa(Array.from(one, (byte) => String.fromCharCode(byte)).join("")));
    const content = new Blob([JSON.stringify({ copy: copy.name, format: "yjs updates, base64", records })]);
    saveFile({ name: `${nameOf()}.kept.json`, content });
  };
  return html`<section class="notice" role="group" aria-label=${say("broken.title")}>
    <p>${say("broken.why", { n: copy.broken })}</p>
    <button type="button" @click=${() => void download()}>${say("broken.download")}</button>
    <button type="button" @click=${() => void copy.mend()}>${say("broken.let_go")}</button>
  </section>`;
}
