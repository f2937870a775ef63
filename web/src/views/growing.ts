/**
 * Fields that are as high as their words, where the style sheet alone cannot make them so (`field-sizing`: Safari before 26.2
 * and WebKitGTK 2.50). Owns their height; the style sheet keeps its bounds. Where the browser does it, this does nothing.
 */

const isOurs = !globalThis.CSS?.supports?.("field-sizing", "content");

/** All fields below; after what they hold was written by the page. */
export function growAll(root: ParentNode): void {
  if (isOurs) for (const field of root.querySelectorAll("textarea")) grow(field);
}

/** One field. Its own height is asked for with no height set, so that it can shrink too. */
export function grow(field: HTMLTextAreaElement): void {
  field.style.height = "auto";
  if (!field.scrollHeight) return; // it is not shown
  field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
}

if (isOurs)
  globalThis.addEventListener?.("input", ({ target }) => {
    if (target instanceof HTMLTextAreaElement) grow(target);
  });
