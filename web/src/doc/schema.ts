/**
 * Schema 1 of a task's documents, as the page reads and writes it. Owns the names of roots and fields; must never differ
 * from `crdt_docs/schema1.json`, which the tests hold it to.
 */

import * as Y from "yjs";

import { isSaid } from "./values";

export const SCHEMA_VERSION = 1;

export const ROOTS = [
  "meta",
  "documents",
  "constraints",
  "decisions",
  "questions",
  "outputs",
  "messages",
  "slots",
  "calls",
  "summary",
] as const;

export type Root = (typeof ROOTS)[number];

/** A pinned root; all of them are maps. */
export function root(doc: Y.Doc, name: Root): Y.Map<unknown> {
  return doc.getMap(name);
}

export interface TaskDocument {
  id: string;
  title: Y.Text;
  kind: string;
  order: number;
  body: Y.XmlFragment;
  isRetired: boolean;
}

export interface Meta {
  schema: number;
  name: string;
  status: string;
  goal: Y.Text;
}

/** What the page may do with a document of that schema: a newer one is never opened, lest the editor drop what it doesn't know. */
export type Readable = { kind: "readable"; meta: Meta } | { kind: "empty" } | { kind: "newer"; schema: unknown };

export function readMeta(doc: Y.Doc): Readable {
  const meta = root(doc, "meta");
  const schema = meta.get("schema");
  if (schema === undefined) return { kind: "empty" };
  const goal = meta.get("goal");
  if (schema !== SCHEMA_VERSION || !(goal instanceof Y.Text)) return { kind: "newer", schema };
  return { kind: "readable", meta: { schema, name: words(meta.get("name")), status: words(meta.get("status")), goal } };
}

/** The task's documents in their order, also those that were taken away; what is not as the schema says is left out. */
export function readDocuments(doc: Y.Doc): TaskDocument[] {
  const found: TaskDocument[] = [];
  root(doc, "documents").forEach((entry, id) => {
    if (!(entry instanceof Y.Map)) return;
    const [title, body, order] = [entry.get("title"), entry.get("body"), entry.get("order")];
    if (!(title instanceof Y.Text) || !(body instanceof Y.XmlFragment)) return;
    found.push({
      id,
      title,
      kind: words(entry.get("kind")),
      order: typeof order === "number" ? order : 0,
      body,
      isRetired: isSaid(entry.get("retired")),
    });
  });
  return found.sort((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
}

/** Add an empty document after the last; its id. */
export function addDocument(doc: Y.Doc, title: string): string {
  const last = readDocuments(doc).at(-1);
  const id = crypto.randomUUID();
  doc.transact(() => {
    const entry = new Y.Map<unknown>();
    root(doc, "documents").set(id, entry);
    entry.set("title", new Y.Text(title));
    entry.set("kind", "text");
    entry.set("order", last ? last.order + 1 : 0);
    entry.set("body", new Y.XmlFragment());
    entry.set("retired", new Y.Map());
  });
  return id;
}

function words(value: unknown): string {
  return typeof value === "string" ? value : "";
}
