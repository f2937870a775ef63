// @vitest-environment happy-dom
import { getSchema } from "@tiptap/core";
import { DOMParser as Reader, type Node } from "@tiptap/pm/model";
import { describe, expect, test } from "vitest";

import { isFollowable, linkable } from "../src/doc/addresses";
import { editorSchema } from "../src/doc/editor_schema";
import { isMarkdown, readInline, readMarkdown } from "../src/doc/markdown";
import { cleanHtml, markdownSlice } from "../src/doc/pasting";

const schema = getSchema(editorSchema());

function shapeOf(text: string): string {
  return readMarkdown(text)
    .map((one) => schema.nodeFromJSON(one).toString())
    .join(" ");
}

describe("Markdown as it is pasted", () => {
  test.each([
    ["# One\n###### Six ##\n# C#", 'heading("One") heading("Six") heading("C#")'],
    ["one\ntwo\n\nthree", 'paragraph("one", hardBreak, "two") paragraph("three")'],
    ["- a\n\n- b\n  - c\n  - d\n- e", 'bulletList(listItem(paragraph("a")), listItem(paragraph("b"), bulletList(listItem(paragraph("c")), listItem(paragraph("d")))), listItem(paragraph("e")))'],
    ["1. a\n   more\n2. b", 'orderedList(listItem(paragraph("a", hardBreak, "more")), listItem(paragraph("b")))'],
    ["- [ ] a\n- [x] b\n- c", 'taskList(taskItem(paragraph("a")), taskItem(paragraph("b"))) bulletList(listItem(paragraph("c")))'],
    ["> a\n>\n> - b", 'blockquote(paragraph("a"), bulletList(listItem(paragraph("b"))))'],
    ["```js\n# no\n\n- no\n```\nyes", 'codeBlock("# no\\n\\n- no") paragraph("yes")'],
    ["```\nnever shut", 'codeBlock("never shut")'],
    ["a\n\n---\n\nb", 'paragraph("a") horizontalRule paragraph("b")'],
    ["| a | b |\n|--|--|\n| `x\\|y` | |\n| 1 | 2 | 3 |", 'table(tableRow(tableHeader(paragraph("a")), tableHeader(paragraph("b"))), tableRow(tableCell(paragraph(code("x|y"))), tableCell(paragraph)), tableRow(tableCell(paragraph("1")), tableCell(paragraph("2 | 3"))))'],
    ["- ```\n  code\n  ```", 'bulletList(listItem(paragraph, codeBlock("code")))'],
    ["说明\n- 甲**乙**丙", 'paragraph("说明") bulletList(listItem(paragraph("甲", bold("乙"), "丙")))'],
  ])("%j", (text, shape) => expect(shapeOf(text)).toBe(shape));

  test.each([
    ["a **b _c_** d", ["a ", "bold b ", "bold italic c", " d"]],
    ["`**no**` ~~s~~ __b__", ["code **no**", " ", "strike s", " ", "bold b"]],
    ["snake_case_name 2*3*4 * x", ["snake_case_name 2*3*4 * x"]],
    ["\\*not\\* \\# *yes*", ["*not* # ", "italic yes"]],
    ["[a](https://x.org/(b)) [b](javascript:alert(1))", ["link a", " [b](javascript:alert(1))"]],
    ["**`x`**", ["bold code x"]],
  ])("%j within a line", (text, words) => {
    const own = readInline(text).map((one) => [...(one.marks ?? []).map(({ type }) => type), one.text].join(" ").replace(/^ (?= )/, ""));
    expect(own).toEqual(words);
  });

  test("words that only look a little like it stay as they are", () => {
    for (const text of ["2 * 3 * 4", "a_b_c", "see #12 and -5", "just\ntwo lines", "x | y", "fee: 10–20 %", "snake_case `"])
      expect(isMarkdown(text), text).toBe(false);
    expect(markdownSlice(schema, "just words")).toBeNull();
    expect(markdownSlice(schema, "- a")!.content.firstChild!.type.name).toBe("bulletList");
  });

  test("every word of it is kept, however it is nested or broken, and the schema takes all of it", () => {
    const pieces = ["# ", "- ", "  - ", "1. ", "> ", "```", "| a | b |\n|-|-|", "**", "`", "[x](", "---", "\n", "\n\n", "    ", "- [ ] ", "|", "\\"];
    for (let seed = 1; seed <= 400; seed += 1) {
      let [state, text] = [seed * 7919, ""];
      const next = (n: number): number => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % n;
      for (let word = 0; word < 14; word += 1) text += pieces[next(pieces.length)]! + (next(2) ? `w${word} ` : "");
      const nodes = readMarkdown(text).map((one) => schema.nodeFromJSON(one));
      nodes.forEach((node) => node.check());
      const words = nodes.map((node) => node.textBetween(0, node.content.size, " ", " ")).join(" ");
      const lost = (text.match(/w\d+/g) ?? []).filter((word) => !words.includes(word) && !text.includes(`\`\`\`${word}`));
      expect(lost, JSON.stringify(text)).toEqual([]);
    }
  });

  test("long words without end are read in a moment", () => {
    const start = performance.now();
    const pieces = ["**", "[", "> ", "`", "- ", "\\*", "*a* ", "# ", "``` a", " ", "|", "|-", "1. ", "[x](", "~~a", "_a_ "];
    for (const piece of pieces) {
      for (const text of [piece.repeat(30_000 / piece.length), `${piece.repeat(900)}\n`.repeat(6)]) {
        isMarkdown(text);
        readMarkdown(`${piece}x\n# ${text}x`);
      }
    }
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

test("only the web and mail are linked", () => {
  expect(linkable(" example.org/a ")).toBe("https://example.org/a");
  expect(linkable("http://localhost:8484/x")).toBe("http://localhost:8484/x");
  expect(linkable("ann@example.org")).toBe("mailto:ann@example.org");
  for (const bad of ["javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "file:///etc/passwd", "", "two words", "vbscript:x", "word"])
    expect(linkable(bad), bad).toBeNull();
  for (const bad of [null, "javascript:alert(1)", " https://x.org", "//x.org", "tel:1"]) expect(isFollowable(bad)).toBe(false);
  expect(isFollowable("https://x.org")).toBe(true);
});

function read(html: string): Node {
  const body = document.createElement("div");
  body.innerHTML = cleanHtml(html);
  return Reader.fromSchema(schema).parse(body);
}

describe("HTML as it is pasted", () => {
  test("Word's lists are lists, and its styles and pictures are nothing", () => {
    const line = (level: number, mark: string, words: string): string =>
      `<p class="MsoListParagraph" style="mso-list:l0 level${level} lfo1"><span style="mso-list:Ignore">${mark}&nbsp; </span>${words}<o:p></o:p></p>`;
    const doc = read(
      `<html><head><style>p{}</style></head><body>${line(1, "1.", "a")}${line(2, "·", "b")}${line(1, "2.", "c")}<p>end<img src="x"></p></body></html>`,
    );
    expect(doc.toString()).toBe(
      'doc(orderedList(listItem(paragraph("a"), bulletList(listItem(paragraph("b")))), listItem(paragraph("c"))), paragraph("end"))',
    );
  });

  test("what styles say of words is read, and no style is left for the page's policy to stop", () => {
    const html =
      '<style>p { color: red }</style><b style="font-weight:normal;" id="docs-internal-guid"><p dir="ltr" style="line-height:1.38">plain ' +
      '<span style="font-weight:700;color:#000">bold</span> <span style=\'font-style:italic\'>slanted</span> ' +
      '<span style="text-decoration:line-through">struck</span></p></b><p>&lt;p style="x"&gt;</p>';
    expect(cleanHtml(html)).not.toMatch(/<[^>]*\sstyle=|<style/);
    const doc = read(html);
    const marked = new Map<string, string[]>();
    doc.descendants((node) => void (node.isText && marked.set(node.text!.trim(), node.marks.map((mark) => mark.type.name))));
    expect([...marked]).toEqual([
      ["plain", []],
      ["bold", ["bold"]],
      ["", []],
      ["slanted", ["italic"]],
      ["struck", ["strike"]],
      ['<p style="x">', []],
    ]);
  });

  test("a stranger's page brings no suggestion, no bad link and no cell over half the document", () => {
    const doc = read(
      '<p><ins data-mark="insertion" data-by="Ann">x</ins><a href="javascript:x">y</a><a href="https://x.org" class="c" target="t" rel="opener">z</a></p><table><tr><td colspan="100000">q</td></tr></table>',
    );
    const marks: unknown[] = [];
    doc.descendants((node) => void marks.push(...node.marks.map((mark) => mark.toJSON())));
    const link = { href: "https://x.org", target: null, rel: null, class: null, title: null };
    expect(marks).toEqual([{ type: "link", attrs: link }]);
    expect(doc.lastChild!.firstChild!.firstChild!.attrs["colspan"]).toBe(50);
  });

  test("what is moved within the editor keeps its suggestions", () => {
    const doc = read('<p data-pm-slice="1 1 []"><del data-mark="deletion" data-id="1" data-by="Ann">x</del></p>');
    expect(doc.firstChild!.firstChild!.marks.map((mark) => mark.type.name)).toEqual(["deletion"]);
  });
});
