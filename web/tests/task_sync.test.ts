// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as Y from "yjs";

import { TaskSync } from "../src/sync/task_sync";
import { MemoryServer } from "./kit_server";

let server: MemoryServer;
let sync: TaskSync;
let signedIn: boolean;

function join(): TaskSync {
  return new TaskSync({
    server: "ws://host",
    task: "t",
    ticket: () => (signedIn ? Promise.resolve("fresh") : Promise.reject(new Error("signed out"))),
    user: { id: "u", name: "Ann" },
    Socket: server.Socket,
  });
}

const after = async (milliseconds: number): Promise<void> => void (await vi.advanceTimersByTimeAsync(milliseconds));

beforeEach(async () => {
  vi.useFakeTimers();
  server = new MemoryServer();
  signedIn = true;
  sync = join();
  await after(200);
});

afterEach(() => {
  sync.destroy();
  vi.useRealTimers();
});

describe("a task's connection", () => {
  test("is saved once a barrier after the first sync is answered", () => {
    expect(sync.ready).toBe(true);
    expect(sync.light).toEqual({ kind: "saved" });
    expect(server.sockets[0]!.barriers).toEqual([1]);
  });

  test("turns to saving with the first letter and to saved after the quiet", async () => {
    sync.doc.getText("t").insert(0, "a");
    expect(sync.light.kind).toBe("saving");
    await after(140);
    expect(sync.light.kind).toBe("saving");
    await after(20);
    expect(sync.light.kind).toBe("saved");
    expect(server.doc.getText("t").toString()).toBe("a");
  });

  test("asks during a long burst of typing too", async () => {
    for (let letter = 0; letter < 30; letter += 1) {
      sync.doc.getText("t").insert(0, "a");
      await after(100);
    }
    expect(server.sockets[0]!.barriers.length).toBeGreaterThan(3);
  });

  test("never says saved of a letter that a frozen server did not take, gives it up within 5 s and brings it later", async () => {
    server.frozen = true;
    const shown: string[] = [];
    sync.on("light", (light) => shown.push(light.kind));
    sync.doc.getText("t").insert(0, "kept");
    await after(6_000);
    expect(shown).toEqual(["saving", "offline"]);
    expect(sync.light).toEqual({ kind: "offline", unsaved: true });
    server.thaw();
    await after(4_000);
    expect(sync.light.kind).toBe("saved");
    expect(server.doc.getText("t").toString()).toBe("kept");
  });

  test("notices a frozen server without a letter typed", async () => {
    server.frozen = true;
    await after(10_500);
    expect(sync.light).toEqual({ kind: "offline", unsaved: false });
  });

  test("is offline at once when the browser says so, and back at once", async () => {
    server.frozen = true;
    dispatchEvent(new Event("offline"));
    expect(sync.light.kind).toBe("offline");
    server.thaw();
    dispatchEvent(new Event("online"));
    await after(300);
    expect(sync.light.kind).toBe("saved");
  });

  test("shows who is here again after a reconnect without a letter typed", async () => {
    const clock = (): number => sync.awareness.meta.get(sync.doc.clientID)!.clock;
    const before = clock();
    server.sockets[0]!.close(1012);
    await after(1_000);
    expect(sync.light.kind).toBe("saved");
    expect(clock()).toBeGreaterThan(before);
  });

  test.each([4400, 4401, 4403, 4404, 4409, 4413, 4429])("ends for good at %i", async (code) => {
    const ended = vi.fn();
    sync.on("ended", ended);
    server.sockets[0]!.close(code, "why");
    dispatchEvent(new Event("online"));
    await after(20_000);
    expect(ended).toHaveBeenCalledWith({ code, reason: "why" });
    expect(server.sockets.length).toBe(1);
  });

  test.each([1006, 1012, 1013, 4500, 4501])("tries again after %i", async (code) => {
    server.sockets[0]!.close(code);
    await after(1_000);
    expect(server.sockets.length).toBe(2);
    expect(sync.light.kind).toBe("saved");
  });

  test("shows a refused write for as long as the page is open", async () => {
    server.refusing = "You may read this task, not change it.";
    sync.doc.getText("t").insert(0, "x");
    await after(200);
    server.refusing = null;
    await after(6_000);
    expect(sync.light).toEqual({ kind: "refused", why: "You may read this task, not change it." });
  });

  test("takes what others write without turning the light", async () => {
    const shown = vi.fn();
    sync.on("light", shown);
    const peer = new Y.Doc();
    peer.getText("t").insert(0, "theirs");
    Y.applyUpdate(sync.doc, Y.encodeStateAsUpdate(peer), sync.provider);
    await after(200);
    expect(sync.doc.getText("t").toString()).toBe("theirs");
    expect(shown).not.toHaveBeenCalled();
  });

  test("does not talk to other tabs behind the server's back", async () => {
    const other = join();
    await after(200);
    server.frozen = true;
    sync.doc.getText("t").insert(0, "secret");
    await after(1_000);
    expect(other.doc.getText("t").toString()).toBe("");
    other.destroy();
  });

  test("hands in a new ticket when its lease is about to end, and none for one that it does not get", async () => {
    server.sockets[0]!.askRenewal();
    await after(10);
    expect(server.sockets[0]!.renewals).toEqual(["fresh"]);
    signedIn = false;
    server.sockets[0]!.askRenewal();
    await after(10);
    expect(server.sockets[0]!.renewals).toEqual(["fresh"]);
  });

  test("leaves no timer and no listener behind", async () => {
    sync.destroy();
    dispatchEvent(new Event("online"));
    await after(10_000);
    expect(server.sockets.length).toBe(1);
    sync = join();
  });
});
