/** Which addresses a document may link to: the web and mail. Anything else is words. */

/** An address in full, or null where it is none that may be linked. "example.org/x" is taken for a web address. */
export function linkable(address: string): string | null {
  const given = address.trim();
  const mail = /^[^\s@:/]+@[^\s@:/]+\.[^\s@:/]+$/.test(given) ? `mailto:${given}` : given;
  const whole = /^[a-z][a-z0-9+.-]*:/i.test(mail) && !/^[^/:]+\.[^/:]+:\d/.test(mail) ? mail : `https://${mail}`;
  if (/\s/.test(whole)) return null;
  try {
    const { protocol, hostname, pathname } = new URL(whole);
    if (protocol === "mailto:") return pathname.includes("@") ? whole : null;
    const isWeb = protocol === "https:" || protocol === "http:";
    return isWeb && (whole === mail || hostname.includes(".")) ? whole : null;
  } catch {
    return null;
  }
}

/** Whether it is an address in full that may be followed; what stands in a document may come from anybody. */
export function isFollowable(address: unknown): address is string {
  if (typeof address !== "string" || !/^(https?|mailto):/i.test(address)) return false;
  return linkable(address) !== null;
}
