/**
 * What of one document never got through to another: words that a device kept and the server does not have. Owns finding
 * and putting them back; must never overwrite what stands there now. What cannot be put back as it was goes into a document
 * of its own.
 */

import * as Y from "yjs";

import { addDocument, root, readDocuments, type Root } from "./schema";
import { entriesOf, words } from "./values";

export interface Lost {
  kind: "paragraph" | "message" | "constraint" | "decision" | "question" | "answer" | "next_step" | "goal";
  /** The document's title, for a paragraph. */
  where: string;
  text: string;
  restore: Restore;
}

type Restore =
  { as: "entry"; root: Root; id: string; entry: Y.Map<unknown> } | { as: "block"; block: Y.XmlElement } | { as: "words" };

const LEDGER: [Root, Lost["kind"]][] = [
  ["messages", "message"],
  ["constraints", "constraint"],
  ["decisions", "decision"],
  ["questions", "question"],
  ["slots", "next_step"],
];

type IsThrough = (item: Y.Item) => boolean;

/** What stands in `kept` and was neither sent, as far as `reached` (a state vector) tells, nor is known to `fresh`. */
export function lostBetween(kept: Y.Doc, fresh: Y.Doc, reached: Uint8Array | null): Lost[] {
  const known = Y.decodeStateVector(Y.encodeStateVector(fresh));
  const sent = reached ? Y.decodeStateVector(reached) : new Map<number, number>();
  const isThrough: IsThrough = ({ id, length }) =>
    id.clock + length <= Math.max(known.get(id.client) ?? 0, sent.get(id.client) ?? 0);
  return [...lostGoal(kept, isThrough), ...lostBlocks(kept, isThrough), ...lostEntries(kept, fresh, isThrough)];
}

function lostGoal(kept: Y.Doc, isThrough: IsThrough): Lost[] {
  const goal = root(kept, "meta").get("goal");
  const isLost = goal instanceof Y.Text && hasNew(goal, isThrough) && words(goal).trim();
  return isLost ? [{ kind: "goal", where: "", text: words(goal), restore: { as: "words" } }] : [];
}

function lostBlocks(kept: Y.Doc, isThrough: IsThrough): Lost[] {
  return readDocuments(kept).flatMap(({ title, body }) =>
    body
      .toArray()
      .filter(
        (block): block is Y.XmlElement => block instanceof Y.XmlElement && (hasNew(block, isThrough) || !isThrough(block._item!)),
      )
      .map((block): Lost => ({ kind: "paragraph", where: title.toString(), text: lines(block), restore: { as: "block", block } }))
      .filter((lost) => lost.text.trim()),
  );
}

function lostEntries(kept: Y.Doc, fresh: Y.Doc, isThrough: IsThrough): Lost[] {
  return LEDGER.flatMap(([name, kind]) =>
    entriesOf(root(kept, name)).flatMap(([id, entry]): Lost[] => {
      if (!(entry instanceof Y.Map)) return [];
      const isNew = !isThrough(entry._item!) && !root(fresh, name).has(id);
      const text =
        name === "slots" ? words(entriesOf(entry.get("fields")).find(([key]) => key === "text")?.[1]) : words(entry.get("text"));
      if (isNew) return text.trim() ? [{ kind, where: "", text, restore: { as: "entry", root: name, id, entry } }] : [];
      const shared = entry.get("text");
      const edited: Lost[] =
        shared instanceof Y.Text && hasNew(shared, isThrough) ? [{ kind, where: "", text, restore: { as: "words" } }] : [];
      return [...edited, ...lostAnswers(entry, isThrough, text)];
    }),
  );
}

function lostAnswers(question: Y.Map<unknown>, isThrough: IsThrough, asked: string): Lost[] {
  return entriesOf(question.get("answers")).flatMap(([, answer]): Lost[] => {
    if (!(answer instanceof Y.Map) || !hasNew(answer, isThrough)) return [];
    return [{ kind: "answer", where: asked, text: words(answer.get("text")), restore: { as: "words" } }];
  });
}

/** Put them into a document; `title` is for the one that holds what has no other place. */
export function putBack(doc: Y.Doc, lost: readonly Lost[], title: string): void {
  doc.transact(() => {
    const blocks: Y.XmlElement[] = [];
    for (const { restore, text } of lost) {
      if (restore.as === "entry") root(doc, restore.root).set(restore.id, restore.entry.clone());
      else if (restore.as === "block") blocks.push(restore.block.clone() as Y.XmlElement);
      else blocks.push(paragraph(text));
    }
    if (!blocks.length) return;
    const made = addDocument(doc, title);
    readDocuments(doc)
      .find(({ id }) => id === made)!
      .body.insert(0, blocks);
  });
}

function paragraph(text: string): Y.XmlElement {
  const element = new Y.XmlElement("paragraph");
  element.insert(0, [new Y.XmlText(text)]);
  return element;
}

/** A block's words, its parts on lines of their own. */
function lines(node: unknown): string {
  if (node instanceof Y.XmlText) return words(node);
  if (!(node instanceof Y.XmlElement)) return "";
  const parts = node.toArray();
  const isInline = parts.some((part) => part instanceof Y.XmlText);
  return parts
    .map((part) => (part instanceof Y.XmlElement && part.nodeName === "hardBreak" ? "\n" : lines(part)))
    .join(isInline ? "" : "\n");
}

/** Whether words or nodes that did not get through stand in a type. */
function hasNew(type: Y.AbstractType<never> | Y.AbstractType<any>, isThrough: IsThrough): boolean {
  const chain = function* (): Generator<Y.Item> {
    for (let item = type._start; item; item = item.right) yield item;
    yield* type._map.values();
  };
  for (const item of chain()) {
    if (item.deleted) continue;
    if (!isThrough(item)) return true;
    if (item.content instanceof Y.ContentType && hasNew(item.content.type, isThrough)) return true;
  }
  return false;
}
