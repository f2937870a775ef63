/** The words in this device's copies that never reached the server, to be read once more before the copies go. */

import type { Shelf } from "./shelf";

/** As one text, of all tasks but one; empty where all was sent. What knows documents is fetched where there is any to read. */
export async function unsentIn(shelf: Shelf, except?: string): Promise<string> {
  const names = shelf.unsent(except);
  if (!names.length) return "";
  const [{ readCopy }, { lostBetween }, Y] = await Promise.all([import("./local_copy"), import("../doc/unsent"), import("yjs")]);
  const found = await Promise.all(
    names.map(async (name) => {
      const kept = await readCopy(name);
      return kept ? lostBetween(kept.doc, new Y.Doc(), kept.reached) : [];
    }),
  );
  return found
    .flat()
    .map(({ text }) => text)
    .join("\n\n");
}
