/**
 * Where the keys go when what they were on goes away. Owns that nobody who works by keys is thrown back to the top of the page;
 * must never take the focus from where somebody has put it.
 */

/** None that does what was only asked for: the key may still be held down. */
const TAKES_KEYS = "a[href], button:enabled:not(.primary), input:enabled, select:enabled, textarea:enabled, summary, [tabindex='0']";

interface Held {
  one: Element;
  /** What stands around it, the nearest first. */
  around: Element[];
}

export class HeldFocus {
  #held: Held | null = null;

  constructor(private readonly root: HTMLElement) {}

  /** Before the root is drawn anew. A button that waits for an answer is disabled, and so has lost the keys for that long. */
  note(): void {
    const one = document.activeElement;
    if (one === document.body) return;
    this.#held = one && one !== this.root && this.root.contains(one) ? { one, around: around(one, this.root) } : null;
  }

  /** After it. Whoever asked for the focus meanwhile has it. */
  settle(): void {
    const held = this.#held;
    if (!held || (held.one.isConnected && held.one.matches(":disabled"))) return;
    this.#held = null;
    queueMicrotask(() => {
      if (document.activeElement !== document.body && isThere(document.activeElement)) return;
      const next = isThere(held.one) ? (held.one as HTMLElement) : firstIn(held.around);
      next?.focus({ preventScroll: true }); // what somebody reads stays where it is
    });
  }
}

const isThere = (one: Element | null): boolean => !!one?.isConnected && !one.closest("[hidden]");

function around(one: Element, root: Element): Element[] {
  const found: Element[] = [];
  for (let next = one.parentElement; next && root.contains(next); next = next.parentElement) found.push(next);
  return found;
}

/** What takes the keys of what is left of them: one of those themselves, or the first in one; the nearest. */
function firstIn(left: Element[]): HTMLElement | undefined {
  return left
    .filter(isThere)
    .flatMap((one) => [one, ...one.querySelectorAll(TAKES_KEYS)] as HTMLElement[])
    .find((one) => one.matches(TAKES_KEYS) && isThere(one) && one.checkVisibility());
}
