/**
 * In which language somebody's words seem to be, by their letters: for the voice that reads them and the font that draws them.
 * A guess that is only made where it differs from the page's language; must never be taken for more.
 */

import { currentLanguage } from "./language";

const FEW = 4;
const SAMPLE = 2_000;

/** The `lang` of words; undefined where they are in the page's language, or nobody can tell. */
export function langOf(words: string, page: string = currentLanguage()): string | undefined {
  const text = words.slice(0, SAMPLE);
  const count = (letters: RegExp): number => text.match(letters)?.length ?? 0;
  const [han, kana, hangul] = [count(/\p{Script=Han}/gu), count(/[\p{Script=Hiragana}\p{Script=Katakana}]/gu), count(/\p{Script=Hangul}/gu)];
  const latin = count(/\p{Script=Latin}/gu);
  const others = han + kana + hangul;
  // a word in Latin letters has several of them, and a name or two makes no English sentence
  const guess = others * FEW > latin ? (hangul > han + kana ? "ko" : kana ? "ja" : "zh") : latin >= FEW ? "en" : page;
  return guess === page || (guess === "en" && page !== "zh") ? undefined : guess;
}
