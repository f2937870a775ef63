/**
 * What comes out of the clipboard. Owns that Markdown becomes what it means, and that what Word and others add of their own is
 * left behind; the schema leaves out the rest. Must never let pasted words pass for somebody's suggestion or comment.
 */

import { Extension } from "@tiptap/core";
import { Fragment, Slice, type ResolvedPos, type Schema } from "@tiptap/pm/model";
import { Plugin } from "@tiptap/pm/state";
import type { EditorView } from "@tiptap/pm/view";

import { isMarkdown, readMarkdown } from "./markdown";

/** Longer than this it is pasted as plain words: reading it would be felt. */
const LONGEST = 200_000;

export const Pasting = Extension.create({
  name: "pasting",
  addProseMirrorPlugins: () => [
    new Plugin({
      props: {
        transformPastedHTML: cleanHtml,
        // an absent answer stands for ProseMirror's own way; its types do not say so
        clipboardTextParser: ((text: string, _: ResolvedPos, isPlain: boolean, view: EditorView) =>
          isPlain ? null : markdownSlice(view.state.schema, text)) as never,
      },
    }),
  ],
});

/** Markdown as a slice that one can paste into a line, or null where the words are not Markdown. */
export function markdownSlice(schema: Schema, text: string): Slice | null {
  if (text.length > LONGEST || !isMarkdown(text)) return null;
  const nodes = readMarkdown(text).map((one) => schema.nodeFromJSON(one));
  if (!nodes.length) return null;
  for (const node of nodes) node.check();
  const [first, last] = [nodes[0]!, nodes.at(-1)!];
  return new Slice(Fragment.from(nodes), first.isTextblock ? 1 : 0, last.isTextblock ? 1 : 0);
}

/** HTML without what is not words: scripts, styles, Word's own elements; its lists, which are paragraphs, as lists. */
export function cleanHtml(html: string): string {
  // the schema has no handlers; they are taken out before the page's policy complains of them
  const inert = html.replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/\son\w+\s*=\s*("[^"]*"|'[^']*'|[^\s>]*)/gi, ""));
  const page = new DOMParser().parseFromString(inert, "text/html");
  for (const one of page.querySelectorAll("script, style, title, meta, link, noscript, template")) one.remove();
  // suggestions and comments go along with what is moved within the editor, and come from nowhere else
  const isOwn = page.querySelector("[data-pm-slice]") !== null;
  if (!isOwn) for (const one of page.querySelectorAll("[data-mark]")) one.replaceWith(...one.childNodes);
  listsOfWord(page);
  for (const one of page.querySelectorAll("*")) if (one.localName.includes(":")) one.replaceWith(...one.childNodes);
  return page.body.innerHTML;
}

/** Word writes a list as paragraphs with `mso-list:l0 level2 lfo1`, each with its own bullet or number as words. */
function listsOfWord(page: Document): void {
  let lists: { level: number; element: Element }[] = [];
  let last: Element | null = null;
  for (const line of page.querySelectorAll<HTMLElement>("p[style*='mso-list']")) {
    const level = Number(/level(\d+)/.exec(line.getAttribute("style") ?? "")?.[1] ?? 0);
    if (!level) continue;
    if (!last || last.nextElementSibling !== line) lists = [];
    const mark = takeMark(line);
    while (lists.length && lists.at(-1)!.level > level) lists.pop();
    let list = lists.find((one) => one.level === level);
    if (!list) {
      list = { level, element: page.createElement(/^[\w.()]+$/.test(mark) && mark !== "o" ? "ol" : "ul") };
      const parent = lists.at(-1)?.element.lastElementChild;
      if (parent) parent.append(list.element);
      else line.before(list.element);
      lists.push(list);
    }
    const item = page.createElement("li");
    item.append(...line.childNodes);
    list.element.append(item);
    last = lists[0]!.element;
    line.remove();
  }
}

/** The bullet or number, which Word marks as to be ignored; taken out. */
function takeMark(line: HTMLElement): string {
  const own = [...line.querySelectorAll("[style*='mso-list']")].find((one) => /ignore/i.test(one.getAttribute("style") ?? ""));
  const mark = (own?.textContent ?? "").replace(/[\s\u00a0]/g, "");
  own?.remove();
  return mark;
}
