/** What is said when the way to the server is closed. The words stay, and stay editable. */

import { html, nothing, type TemplateResult } from "lit";

import { putBack } from "../doc/unsent";
import type { Api, Me } from "../sync/api";
import type { LocalCopy } from "../sync/local_copy";
import type { OpenTask } from "../sync/open_task";
import { inFull, say } from "../words/language";
import "./access_confirm";
import { offersView } from "./offers_view";
import { saveFile } from "./saving";

function signInAgain(goOn: () => void): TemplateResult {
  return html`<div class="failure" role="alert">
    <p>${say("signed_out.here")} <code>clew link</code></p>
    <button type="button" @click=${goOn}>${say("signed_out.go_on")}</button>
  </div>`;
}

function awayView(isOnlyHere: boolean, retry: () => void): TemplateResult {
  return html`<p class="notice" role="status">
    ${say(isOnlyHere ? "away.tab" : "away.kept")} <button type="button" @click=${retry}>${say("again")}</button>
  </p>`;
}

/** Some of what this device kept cannot be read. The task is whole; what was only here may be in those bytes, and is no one's to drop. */
function brokenCopy(copy: LocalCopy, nameOf: () => string): TemplateResult {
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

/** What the page knows of its own troubles. */
interface Troubled {
  api: Api;
  me: Me;
  failure: string;
  isUnconfirmed: boolean;
  lost: boolean;
  isAway: boolean;
}

interface Around {
  open: OpenTask | null;
  /** On which other devices its person is. */
  also: string | null;
  mayWrite: boolean;
  goOn: () => void;
  /** Null where the task is not closed to the page. */
  again: ((press: Event) => void) | null;
}

/** All that stands above a task. */
export function noticesView(page: Troubled, { open, also, mayWrite, goOn, again }: Around): TemplateResult {
  const { api, me, failure, isUnconfirmed, lost, isAway } = page;
  const isOnlyHere = open?.keeping === "failed";
  const until = me.visiting?.until;
  return html`<aside class="notices" aria-label=${say("task.notices")}>
    ${failure ? html`<p class="failure" role="alert">${failure} ${again ? html`<button type="button" @click=${again}>${say("again")}</button>` : nothing}</p>` : nothing}
    ${isUnconfirmed ? html`<clew-access-confirm .api=${api} @confirmed=${() => location.reload()}></clew-access-confirm>` : nothing}
    ${lost ? signInAgain(goOn) : nothing} ${isAway && !lost && !failure ? awayView(isOnlyHere, () => open?.sync.retry()) : nothing}
    ${also ? html`<p class="also">${also}</p>` : nothing}
    ${until ? html`<p class="also">${say("visit.only", { until: inFull(Date.parse(until)) })}</p>` : nothing}
    ${open?.copy.broken ? brokenCopy(open.copy, () => open.known.name) : nothing}
    ${isOnlyHere ? html`<p class="also">${say("copy.none")}</p>` : nothing}
    ${offersView(open?.offers ?? [], {
      putBack: (offer) => {
        putBack(open!.sync.doc, offer.lost, say("offer.document"));
        open!.settle(offer);
      },
      discard: (offer) => open!.settle(offer),
      mayWrite,
    })}
  </aside>`;
}
