import { getSchema } from "@tiptap/core";
import { Fragment } from "@tiptap/pm/model";
import { describe, expect, test } from "vitest";

import schema1 from "../../crdt_docs/schema1.json";
import { editorSchema } from "../src/doc/editor_schema";
import { ROOTS, SCHEMA_VERSION } from "../src/doc/schema";

type Attributes = Record<string, { default: unknown }>;

const editor = getSchema(editorSchema());

function defaults(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(Object.entries(attributes).map(([name, rule]) => [name, rule.default]));
}

function groups(names: readonly string[]): string[] {
  const all = schema1.groups as Record<string, string[]>;
  return names.flatMap((name) => all[name] ?? [name]).sort();
}

test("the version and the roots are those of the shared schema", () => {
  expect(SCHEMA_VERSION).toBe(schema1.version);
  expect([...ROOTS].sort()).toEqual(Object.keys(schema1.parts.main).sort());
  expect(new Set(Object.values(schema1.parts.main))).toEqual(new Set(["Map"]));
});

describe("the editor deletes what it does not know, so it knows exactly what the shared schema has", () => {
  test("nodes by name", () => {
    const own = Object.keys(editor.nodes).filter((name) => name !== "doc" && name !== "text");
    expect(own.sort()).toEqual(Object.keys(schema1.nodes).sort());
  });

  test("marks by name", () => {
    expect(Object.keys(editor.marks).sort()).toEqual(Object.keys(schema1.marks).sort());
  });

  test.each(Object.entries(schema1.nodes))("%s: its attributes", (name, rule) => {
    const attrs = editor.nodes[name]!.spec.attrs ?? {};
    const own = Object.entries(attrs).map(([key, { default: value }]) => [key, value ?? null]);
    expect(Object.fromEntries(own)).toEqual(defaults(rule.attributes as Attributes));
  });

  test.each(Object.entries(schema1.nodes))("%s: what it may hold", (name, rule) => {
    const kind = editor.nodes[name]!;
    const children = groups(rule.children);
    const allowed = Object.values(editor.nodes).filter((child) => {
      // anywhere among its children: after the first that its rule demands
      const first = "first" in rule ? [editor.nodes[rule.first as string]!.createAndFill()!] : [];
      const before = kind.contentMatch.matchFragment(Fragment.from(first));
      return before?.matchType(child) != null;
    });
    expect(allowed.map((child) => child.name).sort()).toEqual(children);
  });

  test.each(Object.entries(schema1.marks))("mark %s: its attributes", (name, rule) => {
    const attrs = editor.marks[name]!.spec.attrs ?? {};
    const own = Object.entries(attrs).map(([key, { default: value }]) => [key, value ?? null]);
    expect(Object.fromEntries(own)).toEqual(defaults(rule.attributes as Attributes));
  });

  test("marks do not push each other out, and two comments may lie over one word", () => {
    for (const mark of Object.values(editor.marks)) {
      const excluded = Object.keys(editor.marks).filter((other) => mark.excludes(editor.marks[other]!));
      expect(excluded).toEqual(mark.name === "comment" ? [] : [mark.name]);
    }
  });

  test("words in a code block carry no marks, all others any", () => {
    const marked = (name: string) => Object.values(editor.marks).filter((mark) => editor.nodes[name]!.allowsMarkType(mark));
    expect(marked("codeBlock")).toEqual([]);
    expect(marked("paragraph").length).toBe(Object.keys(schema1.marks).length);
  });
});
