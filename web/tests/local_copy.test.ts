import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as Y from "yjs";

import { LocalCopy, MANY, readCopy } from "../src/sync/local_copy";

let name: string;
let number = 0;

beforeEach(() => {
  name = `clew:test:${(number += 1)}`;
});

afterEach(() => void vi.restoreAllMocks());

const kept = (copy: LocalCopy): Promise<void> => vi.waitFor(() => expect(copy.keeping).toBe("kept"));
const wordsOf = (doc: Y.Doc): string => doc.getText("t").toString();

async function open(doc = new Y.Doc()): Promise<LocalCopy> {
  return await LocalCopy.open(name, doc);
}

function records(): Promise<number> {
  return new Promise((resolve) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => {
      const count = request.result.transaction("updates").objectStore("updates").count();
      count.onsuccess = () => (request.result.close(), resolve(count.result));
    };
  });
}

test("what was written is there again, and is only called kept once it is on disk", async () => {
  const copy = await open();
  const told: string[] = [];
  copy.onchange = () => told.push(copy.keeping);
  copy.doc.getText("t").insert(0, "kept");
  expect(copy.keeping).toBe("writing");
  await kept(copy);
  expect(told.at(-1)).toBe("kept");
  copy.close();
  const again = await open();
  expect(wordsOf(again.doc)).toBe("kept");
  expect(again.keeping).toBe("kept");
});

test("how far the server had it comes back with it", async () => {
  const copy = await open();
  copy.doc.getText("t").insert(0, "a");
  const reached = Y.encodeStateVector(copy.doc);
  copy.note(reached);
  await kept(copy);
  copy.close();
  expect((await readCopy(name))?.reached).toEqual(reached);
});

test("a database that the browser closed is opened again, and nothing is lost", async () => {
  const opened: IDBDatabase[] = [];
  const original = indexedDB.open.bind(indexedDB);
  vi.spyOn(indexedDB, "open").mockImplementation((...a) => {
    const request = original(...a);
    request.addEventListener("success", () => opened.push(request.result));
    return request;
  });
  const copy = await open();
  copy.doc.getText("t").insert(0, "before ");
  await kept(copy);
  opened.at(-1)!.close();
  copy.doc.getText("t").insert(7, "after");
  await kept(copy);
  copy.close();
  expect(wordsOf((await readCopy(name))!.doc)).toBe("before after");
});

test("a full disk is told, and never thrown into the middle of somebody's typing", async () => {
  const copy = await open();
  vi.spyOn(IDBObjectStore.prototype, "add").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  copy.doc.getText("t").insert(0, "a");
  await vi.waitFor(() => expect(copy.keeping).toBe("failed"));
  copy.doc.getText("t").insert(1, "b");
  expect(wordsOf(copy.doc)).toBe("ab");
});

test("where nothing may be kept the document opens all the same", async () => {
  vi.spyOn(indexedDB, "open").mockImplementation(() => {
    throw new DOMException("private", "SecurityError");
  });
  const copy = await open();
  expect(copy.keeping).toBe("failed");
  copy.doc.getText("t").insert(0, "a");
});

test("one record that cannot be read does not hide the others", async () => {
  const copy = await open();
  copy.doc.getText("t").insert(0, "good");
  await kept(copy);
  copy.close();
  await new Promise<void>((resolve) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => {
      const transaction = request.result.transaction("updates", "readwrite");
      transaction.objectStore("updates").add(new Uint8Array([9, 9, 9]));
      transaction.oncomplete = () => (request.result.close(), resolve());
    };
  });
  const again = await open();
  expect(wordsOf(again.doc)).toBe("good");
  expect(again.broken).toBe(1);
});

test("many records become one, those of another tab included", async () => {
  const [mine, theirs] = [await open(), await open()];
  theirs.doc.getText("u").insert(0, "another tab");
  await kept(theirs);
  for (let letter = 0; letter <= MANY; letter += 1) {
    mine.doc.getText("t").insert(0, "a");
    if (letter % 50 === 0) await kept(mine);
  }
  await kept(mine);
  for (const letter of "bcd") {
    mine.doc.getText("t").insert(0, letter);
    await kept(mine);
  }
  mine.close();
  theirs.close();
  const whole = (await readCopy(name))!.doc;
  expect(wordsOf(whole)).toBe("dcb" + "a".repeat(MANY + 1));
  expect(whole.getText("u").toString()).toBe("another tab");
  expect(await records()).toBeLessThan(MANY);
});

test("a copy that another tab deletes is not brought back", async () => {
  const copy = await open();
  copy.doc.getText("t").insert(0, "secret");
  await kept(copy);
  await new Promise<void>((resolve) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
  });
  copy.doc.getText("t").insert(0, "more ");
  expect(copy.keeping).toBe("failed");
  expect((await indexedDB.databases()).map((one) => one.name)).not.toContain(name);
});
