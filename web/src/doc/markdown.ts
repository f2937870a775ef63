/**
 * Pasted Markdown as nodes of schema 1. Owns a reading of what people and models write: headings, lists, quotes, code,
 * tables, rules; bold, italic, struck, code, links. Must never drop words: what it does not understand stays as written.
 */

import { linkable } from "./addresses";

export interface NodeJson {
  type: string;
  attrs?: Record<string, unknown>;
  content?: NodeJson[];
  marks?: { type: string; attrs?: Record<string, unknown> }[];
  text?: string;
}

const FENCE = /^ {0,3}(```+|~~~+)[ ]*([^\s`]{0,40})[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}>[ ]?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])([ \t]+(\[[ xX]\][ \t]+)?|$)/;
const DELIMITER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
/** Quotes and lists deeper than this are words. */
const DEEPEST = 12;
/** A longer line is words: to look for marks in it takes time that grows with its square. */
const LONGEST_LINE = 4_000;

/** Whether words pasted as plain text are meant as Markdown: one of its blocks, or emphasis or a link within a line. */
export function isMarkdown(text: string): boolean {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const isBlock = (line: string, at: number): boolean =>
    FENCE.test(line) ||
    HEADING.test(line) ||
    /^ {0,3}> \S/.test(line) ||
    /^ *([-*+]|\d{1,9}[.)])[ \t]+\S/.test(line) ||
    (line.includes("|") && DELIMITER.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("|"));
  return lines.some(isBlock) || /\*\*[^\s*][^*\n]{0,999}\*\*|\[[^\]\n]{1,999}\]\((https?:|mailto:)|`[^`\n]{1,999}`|~~[^~\n]{1,999}~~/.test(text);
}

export function readMarkdown(text: string): NodeJson[] {
  return readBlocks(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"), 0);
}

function readBlocks(lines: string[], depth: number): NodeJson[] {
  const blocks: NodeJson[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    if (!line.trim()) at += 1;
    else {
      const [block, next] = readBlock(lines, at, depth);
      blocks.push(...block);
      at = next;
    }
  }
  return blocks;
}

/** The block that begins at a line, and the line after it. */
function readBlock(lines: string[], at: number, depth: number): [NodeJson[], number] {
  const line = lines[at]!;
  const [fence, heading] = [FENCE.exec(line), HEADING.exec(line)];
  if (fence) return readFence(lines, at, fence);
  if (heading) return [[{ type: "heading", attrs: { level: heading[1]!.length }, content: readInline(withoutClosing(heading[2]!)) }], at + 1];
  if (RULE.test(line)) return [[{ type: "horizontalRule" }], at + 1];
  if (QUOTE.test(line) && depth < DEEPEST) return readQuote(lines, at, depth);
  if (ITEM.test(line) && depth < DEEPEST) return readList(lines, at, depth);
  if (isTableAt(lines, at)) return readTable(lines, at);
  let end = at + 1;
  while (end < lines.length && !beginsBlock(lines, end, depth)) end += 1;
  return [[{ type: "paragraph", content: readLines(lines.slice(at, end)) }], end];
}

/** A heading's words without the signs that may close it, as in "## Words ##". */
function withoutClosing(words: string): string {
  const trimmed = words.trim();
  let end = trimmed.length;
  while (trimmed[end - 1] === "#") end -= 1;
  return end === 0 || trimmed[end - 1] === " " ? trimmed.slice(0, end).trimEnd() : trimmed;
}

function beginsBlock(lines: string[], at: number, depth: number): boolean {
  const line = lines[at]!;
  if (!line.trim() || FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return true;
  return (depth < DEEPEST && (QUOTE.test(line) || /^ *([-*+]|1[.)])[ \t]+\S/.test(line))) || isTableAt(lines, at);
}

function readFence(lines: string[], at: number, [, mark, language]: RegExpExecArray): [NodeJson[], number] {
  let end = at + 1;
  while (end < lines.length && !(lines[end]!.trim().startsWith(mark!) && !lines[end]!.trim().replaceAll(mark![0]!, ""))) end += 1;
  const code = lines.slice(at + 1, end).join("\n");
  return [[{ type: "codeBlock", attrs: { language: language || null }, content: textOf(code) }], end + 1];
}

function readQuote(lines: string[], at: number, depth: number): [NodeJson[], number] {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end]!)) end += 1;
  const inner = readBlocks(
    lines.slice(at, end).map((line) => line.replace(QUOTE, "")),
    depth + 1,
  );
  return [[{ type: "blockquote", content: inner.length ? inner : [{ type: "paragraph" }] }], end];
}

/** A list: items of one kind at one indent, each with what is indented under it, over blank lines too. */
function readList(lines: string[], at: number, depth: number): [NodeJson[], number] {
  const [, space, first] = ITEM.exec(lines[at]!)!;
  const kind = kindOfItem(lines[at]!);
  const items: NodeJson[] = [];
  let end = at;
  for (let next = at; next < lines.length; next = firstWords(lines, end)) {
    const line = lines[next]!;
    const found = ITEM.exec(line);
    if (!found || found[1]!.length !== space!.length || RULE.test(line) || kindOfItem(line) !== kind) break;
    end = endOfItem(lines, next + 1, space!.length);
    const rest = lines.slice(next + 1, end);
    const inset = Math.min(...rest.filter((one) => one.trim()).map(indentOf), 8);
    const body = [line.slice(found[0].length), ...rest.map((one) => one.slice(Math.min(inset, indentOf(one))))];
    items.push(itemOf(kind, /x/i.test(found[4] ?? ""), readBlocks(body, depth + 1)));
  }
  const start = kind === "orderedList" ? { attrs: { start: Number.parseInt(first!, 10) } } : {};
  return [[{ type: kind, ...start, content: items }], end];
}

function kindOfItem(line: string): "taskList" | "orderedList" | "bulletList" {
  const [, , mark, , box] = ITEM.exec(line)!;
  return box ? "taskList" : /\d/.test(mark!) ? "orderedList" : "bulletList";
}

function endOfItem(lines: string[], from: number, indent: number): number {
  let end = from;
  for (let at = firstWords(lines, from); at < lines.length && indentOf(lines[at]!) > indent; at = firstWords(lines, end)) end = at + 1;
  return end;
}

/** The first line from there on that is not blank. */
function firstWords(lines: string[], from: number): number {
  let at = from;
  while (at < lines.length && !lines[at]!.trim()) at += 1;
  return at;
}

function indentOf(line: string): number {
  return /^ */.exec(line)![0].length;
}

function itemOf(kind: string, checked: boolean, blocks: NodeJson[]): NodeJson {
  const content = blocks[0]?.type === "paragraph" ? blocks : [{ type: "paragraph" }, ...blocks];
  return kind === "taskList" ? { type: "taskItem", attrs: { checked }, content } : { type: "listItem", content };
}

function isTableAt(lines: string[], at: number): boolean {
  const [head, line] = [lines[at]!, lines[at + 1] ?? ""];
  return head.includes("|") && line.includes("|") && DELIMITER.test(line) && cellsOf(head).length === cellsOf(line).length;
}

function readTable(lines: string[], at: number): [NodeJson[], number] {
  const width = cellsOf(lines[at]!).length;
  const row = (line: string, type: string): NodeJson => {
    const cells = cellsOf(line);
    const words = Array.from({ length: Math.max(width, 1) }, (_, index) => cells[index] ?? "");
    // more cells than columns: kept, in the last
    if (cells.length > width) words[width - 1] = cells.slice(width - 1).join(" | ");
    return {
      type: "tableRow",
      content: words.map((cell) => ({ type, content: [{ type: "paragraph", content: readInline(cell) }] })),
    };
  };
  let end = at + 2;
  while (end < lines.length && lines[end]!.trim() && lines[end]!.includes("|")) end += 1;
  const rows = [row(lines[at]!, "tableHeader"), ...lines.slice(at + 2, end).map((line) => row(line, "tableCell"))];
  return [[{ type: "table", content: rows }], end];
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** A paragraph's lines: a line's end is one in the page too, for in what people paste it is meant. */
function readLines(lines: string[]): NodeJson[] {
  return lines.flatMap((line, index) => [
    ...(index ? [{ type: "hardBreak" }] : []),
    ...readInline(line.trim().replace(/\\$/, "")),
  ]);
}

const INLINE: [pattern: RegExp, mark: (found: RegExpExecArray) => NonNullable<NodeJson["marks"]>[number] | null][] = [
  [/\\([\\`*_{}[\]()#+\-.!~|>])/, () => null],
  [/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/, () => ({ type: "code" })],
  [/\[()([^\]\n]+)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)/, (found) => linkMark(found[3]!)],
  [/<()((?:https?:\/\/|mailto:)[^\s<>]+)>/, (found) => linkMark(found[2]!)],
  [/(\*\*)(?=\S)(.+?)(?<=\S)\1/, () => ({ type: "bold" })],
  [/(?<!\w)(__)(?=\S)(.+?)(?<=\S)\1(?!\w)/, () => ({ type: "bold" })],
  [/(~~)(?=\S)(.+?)(?<=\S)\1/, () => ({ type: "strike" })],
  [/(?<![*\w])(\*)(?=[^\s*])(.+?)(?<=[^\s*])\1(?!\*)/, () => ({ type: "italic" })],
  [/(?<![_\w])(_)(?=[^\s_])(.+?)(?<=[^\s_])\1(?![_\w])/, () => ({ type: "italic" })],
];

function linkMark(address: string) {
  const href = /^[a-z][a-z0-9+.-]*:/i.test(address) ? linkable(address) : null;
  return href ? { type: "link", attrs: { href } } : null;
}

/** Words with their marks. The earliest wins, code before links before emphasis where they begin at one place. */
export function readInline(text: string, marks: NodeJson["marks"] = []): NodeJson[] {
  if (text.length > LONGEST_LINE) return textOf(text, marks);
  const words: NodeJson[] = [];
  const next = seeker(text);
  let at = 0;
  for (let first = next(at); first; first = next(at)) {
    const { found, mark } = first;
    words.push(...textOf(text.slice(at, found.index), marks));
    const inner = mark ? [...marks, mark] : marks;
    if (!mark) words.push(...textOf(found[0].startsWith("\\") ? found[1]! : found[0], marks));
    else words.push(...(mark.type === "code" ? textOf(found[2]!, inner) : readInline(found[2]!, inner)));
    at = found.index + found[0].length;
  }
  return join([...words, ...textOf(text.slice(at), marks)]);
}

/** Finds the next thing that is more than words, from a place on; each pattern is tried anew only behind its last find. */
function seeker(text: string) {
  const all = INLINE.map(([pattern, markOf]) => ({ pattern: new RegExp(pattern, "g"), markOf, found: undefined as RegExpExecArray | null | undefined }));
  return (at: number) => {
    let first: { found: RegExpExecArray; mark: ReturnType<(typeof INLINE)[number][1]> } | null = null;
    for (const one of all) {
      if (one.found === undefined || (one.found && one.found.index < at)) {
        one.pattern.lastIndex = at;
        one.found = one.pattern.exec(text);
      }
      if (one.found && (!first || one.found.index < first.found.index)) first = { found: one.found, mark: one.markOf(one.found) };
    }
    return first;
  };
}

function textOf(text: string, marks: NodeJson["marks"] = []): NodeJson[] {
  return text ? [marks?.length ? { type: "text", text, marks } : { type: "text", text }] : [];
}

/** Neighbours with the same marks are one. */
function join(words: NodeJson[]): NodeJson[] {
  const joined: NodeJson[] = [];
  for (const one of words) {
    const last = joined.at(-1);
    if (last && JSON.stringify(last.marks) === JSON.stringify(one.marks)) last.text += one.text!;
    else joined.push({ ...one });
  }
  return joined;
}
