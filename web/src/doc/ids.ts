/** Ids whose order is that of their making: UUIDv7 (RFC 9562). Must never make the same one twice, nor one before the last. */

let last = 0n;

/**
 * A new id. `after` is a time in milliseconds that it must not come before: what somebody answers stands above the answer,
 * also where that other device's clock is ahead, by a day at the most.
 */
export function orderedId(now = Date.now(), after = 0): string {
  const time = Math.max(now, Math.min(after, now + 86_400_000));
  const random = crypto.getRandomValues(new Uint16Array(5));
  let stamp = (BigInt(Math.floor(time)) << 12n) | BigInt(random[0]! & 0x7ff);
  if (time === now) stamp = last = stamp > last ? stamp : last + 1n;
  const head = (stamp >> 12n).toString(16).padStart(12, "0");
  const low = (stamp & 0xfffn).toString(16).padStart(3, "0");
  const variant = (0x8000 | (random[1]! & 0x3fff)).toString(16);
  const tail = [...random.slice(2)].map((part) => part.toString(16).padStart(4, "0")).join("");
  return `${head.slice(0, 8)}-${head.slice(8)}-7${low}-${variant}-${tail}`;
}

/** The time in an id of this make, in milliseconds; null of another. */
export function timeOf(id: string): number | null {
  if (id.length !== 36 || id[14] !== "7") return null;
  const digits = id.replace(/-/g, "").slice(0, 12);
  return /^[0-9a-fA-F]{12}$/.test(digits) ? parseInt(digits, 16) : null;
}
