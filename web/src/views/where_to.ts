/**
 * Which task somebody wanted to open who has to sign in first: a link that they are given opens in a tab of its own, at the
 * list. Owns one path, for minutes; a task's address lets nobody in.
 */

const KEPT = "clew.next";
const LIFE = 10 * 60_000;

export function noteWhereTo(path: string, now = Date.now()): void {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ path, at: now }));
  } catch {
    return; // nothing can be kept here: then the list it is
  }
}

export function takeWhereTo(now = Date.now()): string | null {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "null") as { path: string; at: number } | null;
    localStorage.removeItem(KEPT);
    return kept && now - kept.at < LIFE && /^\/t\/[0-9a-f-]{36}$/.test(kept.path) ? kept.path : null;
  } catch {
    return null;
  }
}
