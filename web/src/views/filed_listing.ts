/**
 * An answer that lists what it filed says it twice: in its words, and by the entries that it refers to. Owns which of its lines
 * need not be shown because every one of them is shown as an entry. The words stay in the document.
 */

import type { Ref } from "../doc/conversation";

type Filed = Extract<Ref, { kind: "filed" }>;

/** What to show of an answer: its words before the entries, the entries, and the words after them. */
export interface Shown {
  before: string;
  /** Each with what its line says besides, as "replaces …". */
  filed: { ref: Filed; more: string }[];
  after: string;
}

const HEADING = /[:：]\s*$/;
const LINE = /^\s*[-•]\s+/;

/** `textOf` gives an entry's words as they are now, null where there is none any more. */
export function showFiled(text: string, filed: readonly Filed[], textOf: (id: string) => string | null): Shown {
  const whole: Shown = { before: text, filed: filed.map((ref) => ({ ref, more: "" })), after: "" };
  const lines = text.split("\n");
  for (let at = 0; filed.length && at < lines.length; at += 1) {
    if (!HEADING.test(lines[at]!)) continue;
    let end = at + 1;
    while (end < lines.length && LINE.test(lines[end]!)) end += 1;
    const found = matchLines(lines.slice(at + 1, end), filed, textOf);
    if (!found) continue;
    const before = lines.slice(0, at).join("\n").trimEnd();
    return { before, filed: found, after: lines.slice(end).join("\n").trim() };
  }
  return whole;
}

/** An answer that was undone lists nothing any more: its words but for the list, and the entries that are there still. */
export function showUndone(text: string, filed: readonly Filed[]): Shown {
  const lines = text.split("\n");
  const at = lines.findIndex((line, index) => HEADING.test(line) && LINE.test(lines[index + 1] ?? ""));
  let end = at + 1;
  while (at >= 0 && end < lines.length && LINE.test(lines[end]!)) end += 1;
  const before = at < 0 ? text : lines.slice(0, at).join("\n").trimEnd();
  return { before, filed: filed.map((ref) => ({ ref, more: "" })), after: at < 0 ? "" : lines.slice(end).join("\n").trim() };
}

/** All entries, in their order, if each line is one of them and says its very words in quotation marks. */
function matchLines(lines: string[], filed: readonly Filed[], textOf: (id: string) => string | null): Shown["filed"] | null {
  if (!lines.length) return null;
  const left = new Map(filed.map((ref) => [ref, ""]));
  const open = new Set(filed);
  for (const line of lines) {
    const own = [...open].find((ref) => {
      const words = (textOf(ref.id) ?? "").split(/\s+/).filter(Boolean).join(" ");
      const at = words ? line.indexOf(`“${words}”`) : -1;
      // the entry that a line is about stands first in it; what it replaces or answers comes behind
      if (at < 0 || line.slice(0, at).includes("“")) return false;
      left.set(ref, line.slice(at + words.length + 2).replace(/^[;；,，.。\s]+/, ""));
      return true;
    });
    if (!own) return null;
    open.delete(own);
  }
  return [...left].map(([ref, more]) => ({ ref, more }));
}
