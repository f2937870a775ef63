/** Where a link leads: asked for in a line under the bar. Owns the field; must never set an address that may not be followed. */

import type { Editor } from "@tiptap/core";
import { html, nothing, type TemplateResult } from "lit";

import { isFollowable, linkable } from "../doc/addresses";
import { say } from "../words/language";

export interface LinkField {
  editor: Editor;
  isBad: boolean;
  /** Told whether what was given is no address to link to. */
  fail: (isBad: boolean) => void;
  close: () => void;
}

export function linkField({ editor, isBad, fail, close }: LinkField): TemplateResult {
  const now = editor.getAttributes("link")["href"] as unknown;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = String(new FormData(event.target as HTMLFormElement).get("address"));
    const href = linkable(given);
    if (!href) return fail(true);
    setLink(editor, href, given.trim());
    close();
  };
  const remove = (): void => {
    editor.chain().focus().extendMarkRange("link").unsetLink().run();
    close();
  };
  const leave = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    editor.commands.focus();
    close();
  };
  return html`<form class="link-field" novalidate @submit=${submit} @keydown=${leave}>
    <label class="unseen" for="link-address">${say("editor.address")}</label>
    <input
      id="link-address"
      name="address"
      type="url"
      inputmode="url"
      maxlength="2000"
      autocomplete="off"
      placeholder="https://"
      aria-invalid=${String(isBad)}
      aria-describedby=${isBad ? "link-bad" : nothing}
      .value=${typeof now === "string" ? now : ""}
    />
    <button class="primary">${say("editor.link_set")}</button>
    ${
      typeof now === "string"
        ? html`<button type="button" @click=${remove}>${say("editor.link_remove")}</button>
            ${isFollowable(now) ? html`<a class="button" href=${now} target="_blank" rel="noopener noreferrer">${say("editor.link_open")}</a>` : nothing}`
        : nothing
    }
    ${isBad ? html`<p class="failure" id="link-bad" role="alert">${say("editor.link_bad")}</p>` : nothing}
  </form>`;
}

/** On the words that are chosen, on the whole link that the caret is in, or as words of its own where nothing is chosen. */
function setLink(editor: Editor, href: string, words: string): void {
  const chain = editor.chain().focus();
  if (editor.state.selection.empty && !editor.isActive("link")) {
    chain.insertContent({ type: "text", text: words, marks: [{ type: "link", attrs: { href } }] }).run();
  } else chain.extendMarkRange("link").setLink({ href }).run();
}
