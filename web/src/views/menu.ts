/** The menu behind the dots: the language, one's account and devices, signing out, and what the view adds of its own. */

import { html, nothing, type TemplateResult } from "lit";

import type { Language } from "../words/language";
import { currentLanguage, say, setLanguage } from "../words/language";

/** What the frame is asked to do. */
export const SIGN_OUT = "sign-out";
export const SHOW_DEVICES = "show-devices";
export const SHOW_ACCOUNT = "show-account";

const ask = (what: string) => (event: Event): void =>
  void event.target?.dispatchEvent(new CustomEvent(what, { bubbles: true }));

/** Each in its own language: whoever needs it can read that one. */
const LANGUAGES: [language: Language, name: string][] = [
  ["en", "English"],
  ["zh", "中文"],
];

/** `isVisiting`: on a device that was let in to one task, which has no account and no devices to look after. */
export function appMenu(own: TemplateResult | typeof nothing = nothing, isVisiting = false): TemplateResult {
  return html`<button
      type="button"
      class="dots-button"
      popovertarget="menu"
      aria-label=${say("menu.title")}
      title=${say("menu.title")}
    >
      <span aria-hidden="true">⋯</span>
    </button>
    <div id="menu" popover class="menu" role="group" aria-label=${say("menu.title")}>
      ${own}
      <label>
        <span>${say("menu.language")}</span>
        <select name="language" @change=${(event: Event) => setLanguage((event.target as HTMLSelectElement).value as Language)}>
          ${LANGUAGES.map(([one, name]) => html`<option value=${one} lang=${one} ?selected=${one === currentLanguage()}>${name}</option>`)}
        </select>
      </label>
      ${
        isVisiting
          ? nothing
          : html`<button type="button" popovertarget="menu" popovertargetaction="hide" @click=${ask(SHOW_ACCOUNT)}>
                ${say("menu.account")}
              </button>
              <button type="button" popovertarget="menu" popovertargetaction="hide" @click=${ask(SHOW_DEVICES)}>
                ${say("menu.devices")}
              </button>`
      }
      <button type="button" @click=${ask(SIGN_OUT)}>${say("menu.sign_out")}</button>
    </div>`;
}
