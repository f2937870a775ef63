/**
 * One line or field of plain words bound to a `Y.Text`. Owns the least change between what stood there and what stands there
 * now, and where a caret goes; must never split a surrogate pair, over which Yjs implementations part ways.
 */

import type * as Y from "yjs";

export interface Change {
  at: number;
  remove: number;
  insert: string;
}

/**
 * The one replacement that turns `before` into `after`, placed where the caret says it happened: in "aa" → "aaa" every
 * place explains the change, but others' carets and words only stay put at the true one. `caret` is where it is in `after`.
 */
export function leastChange(before: string, after: string, caret: number): Change | null {
  if (before === after) return null;
  const longest = Math.min(before.length, after.length);
  let tail = 0;
  const tailMost = Math.min(longest, Math.max(0, after.length - caret));
  while (tail < tailMost && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  let head = 0;
  while (head < longest - tail && before[head] === after[head]) head += 1;
  while (tail < longest - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  if (splits(before, head) || splits(after, head)) head -= 1;
  if (splits(before, before.length - tail) || splits(after, after.length - tail)) tail -= 1;
  return { at: head, remove: before.length - head - tail, insert: after.slice(head, after.length - tail) };
}

/** Whether a cut before that index parts a surrogate pair. */
function splits(text: string, index: number): boolean {
  return index > 0 && index < text.length && isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** Where a caret at `caret` stands after the change. Words that are put in right at it go behind it. */
export function movedCaret(caret: number, change: Change): number {
  if (caret <= change.at) return caret;
  if (caret >= change.at + change.remove) return caret + change.insert.length - change.remove;
  return change.at;
}

/** A Yjs text delta as changes, each against the text that those before it left. */
export function changesOf(delta: Y.YTextEvent["delta"]): Change[] {
  const changes: Change[] = [];
  let at = 0;
  for (const op of delta) {
    if (op.retain !== undefined) at += op.retain;
    else if (op.delete !== undefined) changes.push({ at, remove: op.delete, insert: "" });
    else if (typeof op.insert === "string") {
      changes.push({ at, remove: 0, insert: op.insert });
      at += op.insert.length;
    }
  }
  return changes;
}

/** A stretch moved by changes that others made meanwhile, each against the text that those before it left. */
function carried(change: Change, since: Change[]): Change {
  const at = since.reduce(movedCaret, change.at);
  const end = since.reduce(movedCaret, change.at + change.remove);
  return { at, remove: Math.max(0, end - at), insert: change.insert };
}

type Field = HTMLInputElement | HTMLTextAreaElement;

/**
 * Keep a field and a text the same, both ways; returns how to stop. While a word is being composed (IME) the field is left
 * alone: what others write meanwhile is shown when the word is done.
 */
export function bindText(field: Field, text: Y.Text): () => void {
  let shown = text.toString();
  let composing = false;
  let unseen: Change[] = [];
  field.value = shown;

  const show = (changes: Change[]): void => {
    const carets = [field.selectionStart ?? 0, field.selectionEnd ?? 0];
    const [start, end] = carets.map((caret) => changes.reduce(movedCaret, caret)) as [number, number];
    shown = text.toString();
    unseen = [];
    if (field.value === shown) return;
    field.value = shown;
    if (field.ownerDocument.activeElement === field) field.setSelectionRange(start, end);
  };
  const written = (): void => {
    if (composing) return;
    const typed = leastChange(shown, field.value, field.selectionStart ?? field.value.length);
    if (typed) {
      const { at, remove, insert } = carried(typed, unseen);
      text.doc?.transact(() => {
        if (remove) text.delete(at, remove);
        if (insert) text.insert(at, insert);
      }, field);
    }
    show(unseen);
  };
  const heard = (event: Y.YTextEvent, transaction: Y.Transaction): void => {
    if (transaction.origin === field) return;
    unseen.push(...changesOf(event.delta));
    if (!composing) show(unseen);
  };
  const compose = (): void => void (composing = true);
  const composed = (): void => {
    composing = false;
    written();
  };
  field.addEventListener("input", written);
  field.addEventListener("compositionstart", compose);
  field.addEventListener("compositionend", composed);
  text.observe(heard);
  return () => {
    field.removeEventListener("input", written);
    field.removeEventListener("compositionstart", compose);
    field.removeEventListener("compositionend", composed);
    text.unobserve(heard);
  };
}
