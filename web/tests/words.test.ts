// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";

import { Announcer, PAUSE } from "../src/views/announcer";
import { agentsHere, alsoHere, peopleHere } from "../src/views/people";
import { CATALOGUE } from "../src/words/catalogue";
import { ago, preferred, say, setLanguage } from "../src/words/language";

afterEach(() => {
  setLanguage("en");
  vi.useRealTimers();
});

const holes = (sentence: string): string[] => [...new Set(sentence.match(/\{\w+\}/g) ?? [])].sort();

test.each(Object.entries(CATALOGUE))("%s is whole in both languages", (_, [english, chinese]) => {
  for (const form of english.split("|")) expect(holes(form).every((hole) => holes(chinese).includes(hole))).toBe(true);
  expect(holes(chinese)).toEqual(holes(english));
  expect(english.split("|").length).toBeLessThanOrEqual(2);
  expect(chinese).not.toContain("|");
  expect(/[\u4e00-\u9fff]/.test(chinese) || chinese === "AI").toBe(true);
});

test("sentences are filled, and one is not many", () => {
  expect(say("return.changed", { n: 1 })).toBe("1 change since you last looked");
  expect(say("return.changed", { n: 2 })).toBe("2 changes since you last looked");
  expect(say("return.heading", { name: "a {name} | b" })).toBe("You were working on “a {name} | b”. Continue?");
  setLanguage("zh");
  expect(say("return.changed", { n: 1 })).toBe("自您上次查看以来有 1 处变更");
  expect(document.documentElement.lang).toBe("zh-Hans");
  expect(ago(Date.now() - 3 * 3_600_000)).toBe("3小时前");
});

test("the browser's first language that is ours is taken, and English where none is", () => {
  expect(preferred(["de-DE", "zh-CN", "en"])).toBe("zh");
  expect(preferred(["en-GB", "zh"])).toBe("en");
  expect(preferred(["fr"])).toBe("en");
});

test("much news is one sentence each, and not more often than every few seconds", () => {
  vi.useFakeTimers();
  const spoken: string[] = [];
  const announcer = new Announcer(
    (sentence) => spoken.push(sentence),
    () => Date.now(),
  );
  for (let letter = 0; letter < 200; letter += 1) {
    announcer.tell({ what: "wrote", who: "Wei" });
    vi.advanceTimersByTime(50);
  }
  announcer.tell({ what: "filed", who: "Clerk" });
  announcer.tell({ what: "filed", who: "Clerk" });
  vi.advanceTimersByTime(PAUSE);
  expect(spoken.slice(0, 2)).toEqual(["Wei changed a document.", "Wei changed a document."]);
  expect(spoken.length).toBeLessThanOrEqual(3);
  expect(spoken.at(-1)).toContain("Clerk filed 2 entries.");
});

test("two tabs on one device are one, and another device is named", () => {
  const user = (device: string) => ({ user: { id: "u", name: "Ann", kind: "user", device } });
  const mine = { device: "laptop", names: new Map([["phone", "Chrome on Android"]]) };
  const here = (...devices: string[]) => peopleHere(new Map(devices.map((device, client) => [client, user(device)])), 0, mine);
  expect(here("laptop", "laptop")).toMatchObject([{ count: 1, devices: [], self: true }]);
  expect(alsoHere(here("laptop", "laptop"))).toBeNull();
  expect(here("laptop", "laptop", "phone")).toMatchObject([{ count: 2, devices: ["Chrome on Android"] }]);
  expect(alsoHere(here("laptop", "phone"))).toBe("You are also here on Chrome on Android.");
  expect(alsoHere(here("laptop", "tablet"))).toBe("You are also here on another device.");
});

test("an agent says what it does, and whatever else a peer claims is nothing", () => {
  const agent = (state: unknown, more = {}) => ({ user: { id: "a", name: "Clerk", kind: "agent" }, state, ...more });
  expect(agentsHere(new Map([[1, agent("writing", { turn: "t", queued: 2 })]]))).toEqual([
    { name: "Clerk", state: "writing", turn: "t", queued: 2 },
  ]);
  expect(
    agentsHere(
      new Map<number, unknown>([
        [1, agent("<b>", { turn: 3, queued: -1 })],
        [2, { user: { name: "Ann", kind: "user" }, state: "writing" }],
      ]),
    ),
  ).toEqual([{ name: "Clerk", state: null, turn: null, queued: 0 }]);
});
