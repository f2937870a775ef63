// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { grow } from "../src/views/growing";

/** As a browser tells it: a line is 24 px, padding 18 and the border 2. */
function fieldOf(lines: number): HTMLTextAreaElement {
  const field = document.createElement("textarea");
  const high = (): number => lines * 24 + 18;
  Object.defineProperty(field, "scrollHeight", { get: () => (lines ? Math.max(high(), parseInt(field.style.height) || 0) : 0) });
  Object.defineProperty(field, "offsetHeight", { get: () => 44 });
  Object.defineProperty(field, "clientHeight", { get: () => 42 });
  return field;
}

test("a field is as high as its words, and shrinks with them", () => {
  const field = fieldOf(5);
  field.style.height = "400px";
  grow(field);
  expect(field.style.height).toBe("140px");
});

test("a field that is not shown keeps the height that the style sheet gives it", () => {
  const field = fieldOf(0);
  grow(field);
  expect(field.style.height).toBe("auto");
});
