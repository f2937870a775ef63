/**
 * What is read out to who does not see the screen. Owns that others' work is told in few words and not more often than every
 * few seconds; must never be told of single letters.
 */

import { say } from "../words/language";

export type News =
  | { what: "answered"; who: string }
  | { what: "said"; who: string }
  | { what: "filed"; who: string }
  | { what: "wrote"; who: string }
  | { what: "light"; words: string };

/** Milliseconds between two announcements. */
export const PAUSE = 6_000;

export class Announcer {
  #news = new Map<string, { news: News; n: number }>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #spokeAt = -Infinity;

  constructor(
    private readonly speak: (sentence: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  tell(news: News): void {
    const key = news.what === "light" ? "light" : `${news.what} ${news.who}`;
    this.#news.set(key, { news, n: (this.#news.get(key)?.n ?? 0) + 1 });
    this.#timer ??= setTimeout(() => this.#speak(), Math.max(400, this.#spokeAt + PAUSE - this.now()));
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #speak(): void {
    this.#timer = null;
    this.#spokeAt = this.now();
    const all = [...this.#news.values()].map(({ news, n }) => sentenceOf(news, n));
    this.#news.clear();
    this.speak(all.join(" "));
  }
}

function sentenceOf(news: News, n: number): string {
  switch (news.what) {
    case "light":
      return news.words;
    case "answered":
      return say("news.answered", { who: news.who });
    case "said":
      return say("news.said", { who: news.who, n });
    case "filed":
      return say("news.filed", { who: news.who, n });
    case "wrote":
      return say("news.wrote", { who: news.who });
  }
}
