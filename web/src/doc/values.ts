/**
 * What stands in a shared entry, read as plain data. Owns the reading of values that anybody may have written; must never
 * throw for what a client wrote, and reads as `crdt_docs/contents.py` does.
 */

import * as Y from "yjs";

/** Behind everything that has a time. */
export const LATE = 2 ** 62;

/** Whatever stands where words are meant, as words: Text, a string, a number, rich text; else nothing. */
export function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Y.Text)
    return value
      .toDelta()
      .map((op: { insert?: unknown }) => (typeof op.insert === "string" ? op.insert : ""))
      .join("");
  if (value instanceof Y.XmlFragment) return value.toArray().map(words).join("");
  return typeof value === "number" && Number.isFinite(value) ? String(value) : "";
}

/** A single word such as a kind or a name, or null. */
export function short(value: unknown): string | null {
  return words(value) || null;
}

/** A shared map's entries by key; a plain object stands in for one. */
export function entriesOf(value: unknown): [string, unknown][] {
  const found = value instanceof Y.Map ? [...value.entries()] : isObject(value) ? Object.entries(value) : [];
  return found.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** One id, or a list of them, or the keys of an object that names them. */
export function ids(value: unknown): string[] {
  if (value instanceof Y.Map || isObject(value)) return entriesOf(value).map(([key]) => key);
  const list = value instanceof Y.Array ? (value.toArray() as unknown[]) : value;
  if (Array.isArray(list)) return list.filter((one): one is string => typeof one === "string");
  const one = words(value);
  return one ? [one] : [];
}

/** Whether an added-entries field (retired, dropped) says yes: any entry, or a stock client's plain truth. */
export function isSaid(value: unknown): boolean {
  return value instanceof Y.Map || isObject(value) ? entriesOf(value).length > 0 : Boolean(value);
}

/** Milliseconds since the epoch, or null. */
export function moment(value: unknown): number | null {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  const parsed = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(parsed) ? null : parsed;
}

export type Fields = Map<string, unknown>;

/** A root's entries in the order in which they were made. Bare words instead of a map are an entry that has only those. */
export function eachEntry(value: unknown): [string, Fields][] {
  const found: [number, string, Fields][] = [];
  for (const [key, entry] of entriesOf(value)) {
    const isMap = entry instanceof Y.Map || isObject(entry);
    const text = isMap ? "" : words(entry);
    if (!isMap && !text) continue;
    const fields: Fields = isMap ? new Map(entriesOf(entry)) : new Map([["text", text]]);
    const at = fields.get("at");
    found.push([typeof at === "number" ? at : LATE, key, fields]);
  }
  found.sort(([a], [b]) => a - b);
  return found.map(([, key, fields]) => [key, fields]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
