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
/** Font weights that are bold. */
const BOLD = /^(bold|bolder|[6-9]00)$/;

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
  // handlers and styles are taken out before the page's policy stops them and complains; what styles mean is read below
  const inert = html
    .replace(/<style[\s>][\s\S]*?(<\/style\s*>|$)/gi, "")
    .replace(/<[a-z][^<>]*>/gi, (tag) =>
      tag.replace(/\son\w+\s*=\s*("[^"]*"|'[^']*'|[^\s>]*)/gi, "").replace(/(\s)style(?=\s*=)/gi, "$1data-style"),
    );
  const page = new DOMParser().parseFromString(inert, "text/html");
  for (const one of page.querySelectorAll("script, style, title, meta, link, noscript, template")) one.remove();
  // suggestions and comments go along with what is moved within the editor, and come from nowhere else
  const isOwn = page.querySelector("[data-pm-slice]") !== null;
  if (!isOwn) for (const one of page.querySelectorAll("[data-mark]")) one.replaceWith(...one.childNodes);
  listsOfWord(page);
  marksOfStyles(page);
  for (const one of page.querySelectorAll("*")) if (one.localName.includes(":")) one.replaceWith(...one.childNodes);
  return page.body.innerHTML;
}

/** Word writes a list as paragraphs with `mso-list:l0 level2 lfo1`, each with its own bullet or number as words. */
function listsOfWord(page: Document): void {
  let lists: { level: number; element: Element }[] = [];
  let last: Element | null = null;
  for (const line of page.querySelectorAll<HTMLElement>("p[data-style*='mso-list']")) {
    const level = Number(/level(\d+)/.exec(line.getAttribute("data-style") ?? "")?.[1] ?? 0);
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

/** What a style says of words, as an element of its own; Google Docs wraps all that it copies in a `b` that is not bold. */
function marksOfStyles(page: Document): void {
  for (const one of page.querySelectorAll("[data-style]")) {
    const style = one.getAttribute("data-style") ?? "";
    one.removeAttribute("data-style");
    const weight = valueOf(style, "font-weight");
    const line = valueOf(style, "text-decoration") + valueOf(style, "text-decoration-line");
    if (one.matches("b, strong") && weight && !BOLD.test(weight)) one.replaceWith(...one.childNodes);
    else if (one.matches("span, font, a, p")) {
      if (BOLD.test(weight)) wrap(one, "strong");
      if (/^(italic|oblique)/.test(valueOf(style, "font-style"))) wrap(one, "em");
      if (line.includes("line-through")) wrap(one, "s");
      if (line.includes("underline") && !one.matches("a")) wrap(one, "u");
    }
  }
}

function valueOf(style: string, name: string): string {
  return new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]*)`, "i").exec(style)?.[1]?.trim().toLowerCase() ?? "";
}

function wrap(one: Element, name: string): void {
  const mark = one.ownerDocument.createElement(name);
  mark.append(...one.childNodes);
  one.append(mark);
}

/** The bullet or number, which Word marks as to be ignored; taken out. */
function takeMark(line: HTMLElement): string {
  const own = [...line.querySelectorAll("[data-style*='mso-list']")].find((one) => /ignore/i.test(one.getAttribute("data-style") ?? ""));
  const mark = (own?.textContent ?? "").replace(/[\s\u00a0]/g, "");
  own?.remove();
  return mark;
}
