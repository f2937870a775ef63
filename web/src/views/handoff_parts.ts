/** What a person is shown before a new device comes in: who it is, what it gets, and three numbers. Owns no decision. */

import { html, svg, type TemplateResult } from "lit";

import type { Claim, Standing } from "../sync/handoffs";
import { inFull, say, type Plain } from "../words/language";

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the page is open by an address that no other machine can reach. */
export function isLoopback(): boolean {
  return LOOPBACK.test(location.hostname);
}

/** A screen, a phone, and the way between them. */
const handOverSign: TemplateResult = html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
  ${svg`<path
    d="M4 5.5h11.5M4 5.5v9h7M2.5 17.5h9M14.5 10h5.5v9.5h-5.5zM16.5 17.5h1.5"
    fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"
  />`}
</svg>`;

/** In words too where there is room for them. */
export function handOverButton(press: () => void): TemplateResult {
  const name = say("handoff.title");
  return html`<button type="button" class="hand-over" aria-label=${name} title=${name} @click=${press}>
    ${handOverSign} <span>${name}</span>
  </button>`;
}

const ROLES: Record<string, Plain> = {
  viewer: "handoff.as_viewer",
  commenter: "handoff.as_commenter",
  editor: "handoff.as_editor",
};

const KINDS: Record<string, Plain> = { browser: "devices.kind_browser", phone: "devices.kind_phone" };

export function roleOf(role: string): string {
  return say(ROLES[role] ?? "handoff.as_editor");
}

export interface Answering {
  isBusy: boolean;
  pick: (number: number) => void;
  decline: () => void;
  block: () => void;
}

export function askView(standing: Standing, claim: Claim, { isBusy, pick, decline, block }: Answering): TemplateResult {
  const may = say("handoff.may_until", { role: roleOf(standing.role), until: inFull(Date.parse(standing.until)) });
  return html`<dl class="asker">
      <dt>${say("handoff.device")}</dt>
      <dd>${claim.name}, ${say(KINDS[claim.kind] ?? "devices.kind_program")}</dd>
      <dt>${say("handoff.network")}</dt>
      <dd>${networkOf(claim)}</dd>
      <dt>${say("handoff.may")}</dt>
      <dd>${may}</dd>
    </dl>
    <p id="handoff-pick"><b>${say("handoff.pick")}</b> ${say("handoff.is_it_you")}</p>
    <div class="numbers" role="group" aria-labelledby="handoff-pick">
      ${claim.numbers.map(
        (number) => html`<button type="button" ?disabled=${isBusy} @click=${() => pick(number)}>${number}</button>`,
      )}
    </div>
    <div class="acts">
      <button type="button" class="primary decline" ?disabled=${isBusy} @click=${decline}>${say("handoff.decline")}</button>
      <button type="button" ?disabled=${isBusy} @click=${block}>${say("handoff.block")}</button>
    </div>`;
}

function networkOf({ same_network }: Claim): string {
  if (same_network === null) return say("handoff.unknown_network");
  return say(same_network ? "handoff.same_network" : "handoff.other_network");
}
