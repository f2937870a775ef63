/**
 * In which language the page speaks. Owns the choice, which is kept on this device, and the `lang` of the page; must never
 * touch what people wrote.
 */

import { CATALOGUE, type Key } from "./catalogue";

export type Language = "en" | "zh";

const KEPT = "clew.language";
const LOCALES: Record<Language, string> = { en: "en", zh: "zh-Hans" };

/** The names of the holes in a sentence: "{n} of {all}" has "n" and "all". */
type Holes<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Holes<Rest> : never;
type Filling<K extends Key> = [Holes<(typeof CATALOGUE)[K][0]>] extends [never]
  ? []
  : [Record<Holes<(typeof CATALOGUE)[K][0]>, string | number>];

/** A sentence without holes. */
export type Plain = { [K in Key]: [Holes<(typeof CATALOGUE)[K][0]>] extends [never] ? K : never }[Key];

let language: Language = chosen() ?? preferred(globalThis.navigator?.languages ?? []);
const listeners = new Set<() => void>();

export function currentLanguage(): Language {
  return language;
}

export function setLanguage(next: Language): void {
  try {
    localStorage.setItem(KEPT, next);
  } catch {
    // nothing can be kept in this window; the choice holds as long as it is open
  }
  change(next);
}

function change(next: Language): void {
  language = next;
  showLanguage();
  for (const listener of listeners) listener();
}

/** Speak the language of who has signed in, where this browser has no choice of its own. */
export function adoptLanguage(theirs: Language | null): void {
  if (theirs && theirs !== language && !chosen()) change(theirs);
}

/** Leave the language to the browser again. */
export function leaveLanguage(): void {
  try {
    localStorage.removeItem(KEPT);
  } catch {
    // nothing was kept either
  }
  change(preferred(globalThis.navigator?.languages ?? []));
}

/** Hear of changes; returns how to stop. */
export function onLanguage(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function showLanguage(): void {
  document.documentElement.lang = LOCALES[language];
}

/** The first of a browser's languages that is ours; English where none is. */
export function preferred(languages: readonly string[]): Language {
  for (const one of languages) {
    const primary = one.toLowerCase().split("-")[0];
    if (primary === "en" || primary === "zh") return primary;
  }
  return "en";
}

/** A sentence of the catalogue. English has "one|more" where `n` decides between them. */
export function say<K extends Key>(key: K, ...[filling]: Filling<K>): string {
  const [english, chinese] = CATALOGUE[key];
  const values = (filling ?? {}) as Record<string, string | number>;
  let sentence: string = language === "zh" ? chinese : english;
  if (sentence.includes("|")) sentence = sentence.split("|")[Number(values["n"]) === 1 ? 0 : 1]!;
  return sentence.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** A moment in milliseconds as "3 hours ago". */
export function ago(moment: number, now = Date.now()): string {
  const seconds = (moment - now) / 1000;
  if (!Number.isFinite(seconds)) return "";
  const words = new Intl.RelativeTimeFormat(LOCALES[language], { numeric: "auto" });
  const spans: [Intl.RelativeTimeFormatUnit, number][] = [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
  ];
  for (const [unit, length] of spans) {
    if (Math.abs(seconds) >= length) return words.format(Math.round(seconds / length), unit);
  }
  return say("time.now");
}

/** A moment in full, for a tooltip. */
export function inFull(moment: number): string {
  return new Date(moment).toLocaleString(LOCALES[language], { dateStyle: "medium", timeStyle: "short" });
}

function chosen(): Language | null {
  try {
    const kept = localStorage.getItem(KEPT);
    return kept === "en" || kept === "zh" ? kept : null;
  } catch {
    return null;
  }
}
