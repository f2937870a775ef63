import { expect, test } from "vitest";

import { Problem, type Api } from "../src/sync/api";
import { Session } from "../src/sync/session";

function kept(): { storage: Pick<Storage, "getItem" | "setItem" | "removeItem">; values: Map<string, string> } {
  const values = new Map<string, string>();
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
  return { storage, values };
}

/** A server that knows the sessions that it has begun and not ended. */
function server(): { api: Api; live: Map<string, string | null> } {
  const live = new Map<string, string | null>();
  const api = {
    newSession: async () => {
      const id = `s${live.size + 1}`;
      live.set(id, null);
      return { id, candidates: [{ task: { id: "t", name: "Acme" }, score: 0.5, why: "" }] };
    },
    attach: async (session: string, task: string | null) => {
      if (!live.has(session) || task === "missing") throw new Problem(404, "not_found", "There is no such thing here.");
      live.set(session, task);
    },
  };
  return { api: api as unknown as Api, live };
}

test("a tab has one session over all the tasks it visits, and after a reload", async () => {
  const { api, live } = server();
  const { storage } = kept();
  const session = new Session(api, storage);
  await session.attach("a");
  await session.attach("b");
  await new Session(api, storage).attach(null);
  expect([...live]).toEqual([["s1", null]]);
});

test("a session that the server has ended is followed by another", async () => {
  const { api, live } = server();
  const { storage, values } = kept();
  values.set("clew.session", "long gone");
  const session = new Session(api, storage);
  await session.attach("a");
  expect([...live]).toEqual([["s1", "a"]]);
  expect(session.id).toBe("s1");
});

test("a task that is not there is said to be missing", async () => {
  const { api } = server();
  const session = new Session(api, kept().storage);
  await expect(session.attach("missing")).rejects.toMatchObject({ code: "not_found" });
});

test("a page that is opened at no task begins anew and hears which tasks it may be about", async () => {
  const { api, live } = server();
  const { storage, values } = kept();
  const session = new Session(api, storage);
  await session.attach("a");
  expect((await session.begin()).map((one) => one.task.name)).toEqual(["Acme"]);
  expect([...live]).toEqual([
    ["s1", "a"],
    ["s2", null],
  ]);
  expect(values.get("clew.session")).toBe("s2");
});
