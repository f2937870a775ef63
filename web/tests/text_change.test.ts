// @vitest-environment happy-dom
import { describe, expect, test } from "vitest";
import * as Y from "yjs";

import { bindText, changesOf, leastChange, movedCaret, type Change } from "../src/doc/text_change";

function applied(text: string, { at, remove, insert }: Change): string {
  return text.slice(0, at) + insert + text.slice(at + remove);
}

describe("the least change", () => {
  test("of equal words is none", () => {
    expect(leastChange("same", "same", 2)).toBeNull();
  });

  test("among like letters stands where the caret is", () => {
    expect(leastChange("aaaa", "aaaaa", 2)).toEqual({ at: 1, remove: 0, insert: "a" });
    expect(leastChange("aaaa", "aaaaa", 5)).toEqual({ at: 4, remove: 0, insert: "a" });
    expect(leastChange("aaaa", "aaa", 1)).toEqual({ at: 1, remove: 1, insert: "" });
  });

  test("never parts a surrogate pair", () => {
    expect(leastChange("a😀b", "a😁b", 3)).toEqual({ at: 1, remove: 2, insert: "😁" });
    expect(leastChange("😀", "😁😀", 2)).toEqual({ at: 0, remove: 0, insert: "😁" });
    expect(leastChange("𐀀", "𠀀", 2)).toEqual({ at: 0, remove: 2, insert: "𠀀" });
  });

  test("always gives the new words, wherever the caret claims to be", () => {
    const letters = ["a", "b", "😀", "😁", "合"];
    let seed = 7;
    const draw = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
    const words = (): string => Array.from({ length: draw(7) }, () => letters[draw(letters.length)]).join("");
    for (let round = 0; round < 5_000; round += 1) {
      const [before, after] = [words(), words()];
      const change = leastChange(before, after, draw(after.length + 1));
      if (before === after) expect(change).toBeNull();
      else {
        expect(applied(before, change!)).toBe(after);
        expect((change!.insert + before.slice(change!.at, change!.at + change!.remove)).isWellFormed()).toBe(true);
      }
    }
  });
});

test("a caret moves with the words around it and stays before what is put in at it", () => {
  expect(movedCaret(3, { at: 1, remove: 0, insert: "xx" })).toBe(5);
  expect(movedCaret(3, { at: 3, remove: 0, insert: "xx" })).toBe(3);
  expect(movedCaret(3, { at: 1, remove: 9, insert: "" })).toBe(1);
  expect(movedCaret(3, { at: 0, remove: 2, insert: "" })).toBe(1);
});

test("a delta is read as changes, each against what those before it left", () => {
  const changes = changesOf([{ retain: 2 }, { insert: "xy" }, { delete: 1 }, { retain: 1 }, { insert: "z" }]);
  expect(changes.reduce(applied, "abcde")).toBe("abxydze");
});

describe("a bound field", () => {
  function bound(words: string): { field: HTMLTextAreaElement; text: Y.Text; other: Y.Text; type: (value: string, caret: number) => void } {
    const doc = new Y.Doc();
    const peer = new Y.Doc();
    doc.on("update", (update: Uint8Array, origin: unknown) => origin !== "peer" && Y.applyUpdate(peer, update, "peer"));
    peer.on("update", (update: Uint8Array, origin: unknown) => origin !== "peer" && Y.applyUpdate(doc, update, "peer"));
    const [text, other] = [doc.getText("t"), peer.getText("t")];
    text.insert(0, words);
    const field = document.createElement("textarea");
    document.body.append(field);
    field.focus();
    bindText(field, text);
    const type = (value: string, caret: number): void => {
      field.value = value;
      field.setSelectionRange(caret, caret);
      field.dispatchEvent(new Event("input"));
    };
    return { field, text, other, type };
  }

  test("writes what is typed and shows what others write, with the caret by its word", () => {
    const { field, text, other, type } = bound("hello");
    type("hello world", 11);
    expect(other.toString()).toBe("hello world");
    other.insert(0, ">> ");
    expect(field.value).toBe(">> hello world");
    expect(field.selectionStart).toBe(14);
    type(">> hello wor", 12);
    expect(text.toString()).toBe(">> hello wor");
  });

  test("leaves a composition alone and puts it in its place afterwards", () => {
    const { field, other, type } = bound("合同");
    field.setSelectionRange(2, 2);
    field.dispatchEvent(new Event("compositionstart"));
    type("合同ni", 4);
    other.insert(0, "Acme ");
    expect(field.value).toBe("合同ni");
    type("合同你", 3);
    field.dispatchEvent(new Event("compositionend"));
    expect(other.toString()).toBe("Acme 合同你");
    expect(field.value).toBe("Acme 合同你");
    expect(field.selectionStart).toBe(8);
  });
});
