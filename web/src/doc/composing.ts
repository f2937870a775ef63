/**
 * A word that is being composed (IME) lives in one node of the page. Owns telling which remote updates would tear that node:
 * letters put between its own, or taken from it. What comes before or behind the words, or into another block, does not.
 */

import * as Y from "yjs";

/** Whether an update changes what stands inside the words of a block, an element with text in it or none yet. */
export function tears(update: Uint8Array, block: Y.XmlElement): boolean {
  const { structs, ds } = Y.decodeUpdate(update);
  const texts = block.toArray().filter((one): one is Y.XmlText => one instanceof Y.XmlText);
  const inside = texts.flatMap((text) => [...itemsOf(text)]);
  const last = inside.filter((item) => !item.deleted).at(-1);
  const isInside = ({ client, clock }: Y.ID): boolean =>
    inside.some((item) => item.id.client === client && item.id.clock <= clock && clock < item.id.clock + item.length);
  const store = block.doc!.store;
  const isTorn = structs.some((struct) => {
    // one's own letters come back from the server, and are no news
    if (!(struct instanceof Y.Item) || struct.id.clock + struct.length <= Y.getState(store, struct.id.client)) return false;
    if (isId(struct.parent) && Y.compareIDs(struct.parent, block._item!.id)) return true;
    return struct.origin !== null && isInside(struct.origin) && !(last && Y.compareIDs(struct.origin, last.lastId));
  });
  return isTorn || [block._item!, ...texts.map((text) => text._item!), ...inside].some((item) => isCut(item, ds));
}

function* itemsOf(text: Y.XmlText): Generator<Y.Item> {
  for (let item = text._start; item; item = item.right) yield item;
}

function isId(parent: unknown): parent is Y.ID {
  return parent instanceof Y.ID;
}

function isCut({ id, length, deleted }: Y.Item, ds: ReturnType<typeof Y.decodeUpdate>["ds"]): boolean {
  if (deleted) return false;
  const ranges = ds.clients.get(id.client) ?? [];
  return ranges.some(({ clock, len }) => clock < id.clock + length && id.clock < clock + len);
}
