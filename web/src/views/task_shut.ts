/** How a task that was closed to this page is spoken of. Owns whether its words may still be seen: by its rules they may not. */

import type { Shown } from "../sync/light";
import type { End } from "../sync/ticket_socket";
import { say, type Plain } from "../words/language";
import { reasonOf } from "./access_words";

/** `out`: it may open again. `hidden`: so it may, and till then nothing of it is shown. */
export type Shut = "" | "out" | "hidden";

/** Close codes that y-websocket does not retry, in words. */
const ENDED: Record<number, Plain> = { 4403: "ended.forbidden", 4404: "ended.gone", 4429: "ended.fast" };

export function shutBy({ code, reason }: End): { light: Shown; failure: string; shut: Shut } {
  const rule = reasonOf(reason);
  const why = rule || ENDED[code] ? say("ended.closed") : reason || say("ended.closed");
  return {
    light: { kind: "refused", why },
    failure: rule ?? say(ENDED[code] ?? "ended.refused"),
    shut: code !== 4403 && code !== 4404 ? "" : rule ? "hidden" : "out",
  };
}
