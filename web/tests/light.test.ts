import { beforeEach, describe, expect, test } from "vitest";

import { Light, PATIENCE } from "../src/sync/light";

let light: Light;
const shown = (): string => light.shown.kind;

beforeEach(() => {
  light = new Light();
});

function open(): void {
  light.connected();
  light.synced();
}

describe("the saved light", () => {
  test("does not cry offline before the first attempt has ended", () => {
    expect(shown()).toBe("opening");
    light.disconnected();
    expect(light.shown).toEqual({ kind: "offline", unsaved: false });
  });

  test("is not saved by a connection alone, only by the answer to a later barrier (L1)", () => {
    open();
    light.edited();
    expect(shown()).toBe("saving");
    const number = light.ask(0)!;
    expect(shown()).toBe("saving");
    light.answered(number);
    expect(shown()).toBe("saved");
  });

  test("stays saving while a newer edit is not covered (L1)", () => {
    open();
    light.edited();
    const first = light.ask(0)!;
    light.edited();
    light.answered(first);
    expect(shown()).toBe("saving");
    light.answered(light.ask(1)!);
    expect(shown()).toBe("saved");
  });

  test("takes no answer to what another connection was asked (L2)", () => {
    open();
    light.edited();
    const number = light.ask(0)!;
    light.disconnected();
    expect(light.shown).toEqual({ kind: "offline", unsaved: true });
    open();
    light.answered(number);
    expect(shown()).toBe("saving");
  });

  test("asks nobody before the document is in step", () => {
    expect(light.ask(0)).toBeNull();
    light.connected();
    expect(light.ask(0)).toBeNull();
    expect(shown()).toBe("opening");
    light.synced();
    expect(light.ask(0)).toBe(1);
  });

  test("an answer answers the older questions too, and an unasked one nothing", () => {
    open();
    light.edited();
    light.ask(0);
    light.ask(10);
    light.answered(99);
    expect(shown()).toBe("saving");
    light.answered(2);
    expect(shown()).toBe("saved");
    expect(light.isLost(PATIENCE * 3)).toBe(false);
  });

  test("gives up on a server that does not answer", () => {
    open();
    light.ask(1_000);
    expect(light.isLost(1_000 + PATIENCE)).toBe(false);
    expect(light.isLost(1_001 + PATIENCE)).toBe(true);
  });

  test("a refusal stays shown whatever is answered afterwards (L3)", () => {
    open();
    light.edited();
    light.refused("You may read this task, not change it.");
    light.answered(light.ask(0)!);
    light.disconnected();
    open();
    expect(light.shown).toEqual({ kind: "refused", why: "You may read this task, not change it." });
  });
});
