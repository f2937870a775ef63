import { expect, test } from "vitest";

import type { Ref } from "../src/doc/conversation";
import { showFiled, showUndone } from "../src/views/filed_listing";
import { outlineOf } from "../src/views/qr_code";

type Filed = Extract<Ref, { kind: "filed" }>;

const filed = (id: string, entry = "decision"): Filed => ({ kind: "filed", entry, id, source: null });
const words: Record<string, string> = { a: "Net 30", b: "Never below\n150 k€", c: "按 net 30 付款" };
const textOf = (id: string): string | null => words[id] ?? null;
const shown = (text: string, ...ids: string[]) => showFiled(text, ids.map((id) => filed(id)), textOf);

test("a listing whose every line is an entry is shown as the entries, once, where it stood", () => {
  const text = 'It is noted.\n\nFiled:\n- decision: “Net 30”; replaces “Net 60”\n- constraint (critical): “Never below 150 k€”\n\nOpen:\n- Who signs?';
  const { before, filed: entries, after } = shown(text, "a", "b");
  expect(before).toBe("It is noted.");
  expect(entries.map(({ ref, more }) => [ref.id, more])).toEqual([
    ["a", "replaces “Net 60”"],
    ["b", ""],
  ]);
  expect(after).toBe("Open:\n- Who signs?");
  expect(shown("已记录：\n- 决定：“按 net 30 付款”", "c")).toMatchObject({ before: "", after: "" });
});

test.each([
  ["a line that is no entry", "Filed:\n- decision: “Net 30”\n- decision: “Something else”", ["a", "b"]],
  ["an entry whose words have changed since", "Filed:\n- decision: “Net 45”", ["a"]],
  ["an entry that is gone", "Filed:\n- decision: “Gone”", ["gone"]],
  ["two lines for one entry", "Filed:\n- decision: “Net 30”\n- decision: “Net 30”", ["a"]],
  ["words that only mention an entry", "Filed:\n- question: “Why?”; answers “Net 30”", ["a"]],
  ["nothing filed", "Filed:\n- decision: “Net 30”", []],
  ["an answer without a listing", "All right: Net 30.", ["a"]],
])("all words are shown where there is %s", (_, text, ids) => {
  expect(shown(text, ...ids)).toMatchObject({ before: text, after: "" });
  expect(shown(text, ...ids).filed.map(({ ref }) => ref.id)).toEqual(ids);
});

test("of an answer that was undone its words stay, without the list of what is not there any more", () => {
  const text = "It is noted.\n\nFiled:\n- decision: “Net 30”\n- constraint (critical): “Gone”\n\nWho signs?";
  expect(showUndone(text, [])).toEqual({ before: "It is noted.", filed: [], after: "Who signs?" });
  expect(showUndone("已记录：\n- 决定：“按 net 30 付款”", [filed("c")])).toMatchObject({ before: "", after: "", filed: [{ more: "" }] });
  expect(showUndone("All right: Net 30.", [])).toMatchObject({ before: "All right: Net 30.", after: "" });
});

test("a QR code is drawn by runs, four modules from the edge", () => {
  expect(outlineOf(["1101", "0001"])).toBe("M4 4h2v1h-2zM7 4h1v1h-1zM7 5h1v1h-1z");
});
