// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { hear, onNotice, welcome, type Notice, type Welcomed } from "../src/sync/notices";
import { noteWhereTo, takeWhereTo } from "../src/views/where_to";

const joined = (id: string): string => JSON.stringify({ kind: "device-joined", id, device: { id: "d", name: "n", kind: "phone" } });

test("a notice is heard once, over whichever socket it comes first, and what is none is let go", () => {
  const heard: (Notice | Welcomed)[] = [];
  const stop = onNotice((notice) => heard.push(notice));
  for (const json of [joined("1"), joined("1"), "{", "null", '{"kind":"later","id":"2"}', '{"kind":"device-joined"}', joined("3")])
    hear(json);
  welcome("d");
  stop();
  hear(joined("4"));
  expect(heard.map((one) => (one.kind === "welcomed" ? one.kind : one.id))).toEqual(["1", "3", "welcomed"]);
});

test("who has to sign in first goes on to the task, once, within minutes, and to nothing but a task", () => {
  const path = "/t/00000000-0000-4000-8000-000000000000";
  noteWhereTo(path, 0);
  expect(takeWhereTo(9 * 60_000)).toBe(path);
  expect(takeWhereTo(9 * 60_000)).toBeNull();
  noteWhereTo(path, 0);
  expect(takeWhereTo(11 * 60_000)).toBeNull();
  noteWhereTo("//elsewhere.example", 0);
  expect(takeWhereTo(1)).toBeNull();
});
