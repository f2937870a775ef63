/** Keys that mean something else while a word is being composed. */

/** Whether a key belongs to an input method: then Enter picks a word, and ends nothing. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}
