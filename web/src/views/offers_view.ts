/** What never got through, offered: put it back, copy it, or let it go. Owns that nothing of it is dropped unasked. */

import { html, nothing, type TemplateResult } from "lit";

import type { Offer } from "../sync/open_task";
import { say, type Plain } from "../words/language";
import { kindOf } from "./badges";
import { saveFile } from "./saving";

const TITLES: Record<Offer["why"], Plain> = { older: "offer.title_older", refused: "offer.title", ended: "offer.title" };
const WHYS: Record<Offer["why"], Plain> = { older: "offer.older", refused: "offer.refused", ended: "offer.ended" };

export interface Choices {
  putBack: (offer: Offer) => void;
  discard: (offer: Offer) => void;
  mayWrite: boolean;
}

export function offersView(offers: Offer[], { putBack, discard, mayWrite }: Choices): TemplateResult[] {
  return offers.map(
    (offer) =>
      html`<section class="offer" role="group" aria-label=${say(TITLES[offer.why])}>
        <h2>${say(TITLES[offer.why])}</h2>
        <p>${say(WHYS[offer.why])}</p>
        <ul>
          ${offer.lost.map(
            (one) =>
              html`<li>
                <span class="badge">${kindOf(one.kind)}</span>
                ${one.where ? html`<span class="quiet">${one.where}:</span>` : nothing} <span class="lost">${one.text}</span>
              </li>`,
          )}
        </ul>
        <div class="acts">
          ${mayWrite ? html`<button type="button" class="primary" @click=${() => putBack(offer)}>${say("offer.put_back")}</button>` : nothing}
          <button
            type="button"
            @click=${() => void navigator.clipboard?.writeText(wordsOf(offer))}
          >
            ${say("offer.copy")}
          </button>
          <button type="button" @click=${() => saveFile(fileOf(offer))}>${say("offer.save")}</button>
          <button type="button" @click=${() => discard(offer)}>${say("offer.discard")}</button>
        </div>
      </section>`,
  );
}

function wordsOf({ lost }: Offer): string {
  return lost.map(({ text }) => text).join("\n\n");
}

function fileOf(offer: Offer): { name: string; content: Blob } {
  return { name: `${say("offer.document")}.txt`, content: new Blob([wordsOf(offer)], { type: "text/plain" }) };
}
