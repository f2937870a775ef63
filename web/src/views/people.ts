/**
 * Who is here. Owns how awareness states become people: several devices of one person are one entry. Must never put a
 * stranger's words anywhere but into text: tones are picked here, not taken from what a peer claims.
 */

import { html, nothing, type TemplateResult } from "lit";

import { say } from "../words/language";

export const TONES = 8;

export interface PersonHere {
  key: string;
  name: string;
  kind: string;
  /** Names of their other devices, as far as they are known here. */
  devices: string[];
  /** By how many devices they are here; two tabs on one are one. */
  count: number;
  self: boolean;
}

/** What an agent says of itself. */
export interface AgentHere {
  name: string;
  state: "reading" | "thinking" | "writing" | null;
  turn: string | null;
  queued: number;
}

interface State {
  user?: { id?: unknown; name?: unknown; kind?: unknown; device?: unknown };
  state?: unknown;
  turn?: unknown;
  queued?: unknown;
}

/** The same tone for one person on every screen, and another for the agent that works for them. */
export function toneOf(user: { id?: unknown; name?: unknown; kind?: unknown }): number {
  const key = String(user.id ?? user.name ?? "");
  let sum = 0;
  for (const letter of key) sum = (sum * 31 + letter.codePointAt(0)!) >>> 0;
  return (sum + (user.kind === "agent" ? TONES / 2 : 0)) % TONES;
}

/** What is known here of the person's own devices: which one this is, and their names by id. */
export interface OwnDevices {
  device: string | null;
  names: ReadonlyMap<string, string>;
}

const NONE: OwnDevices = { device: null, names: new Map() };

export function peopleHere(states: Map<number, unknown>, own: number, mine: OwnDevices = NONE): PersonHere[] {
  const people = new Map<string, PersonHere & { ids: Set<string> }>();
  for (const [client, state] of states) {
    const user = (state as State | null)?.user;
    if (!user || typeof user.name !== "string") continue;
    const [kind, isSelf] = [String(user.kind ?? "user"), client === own];
    const key = `${kind}:${String(user.id ?? user.name)}`;
    const one = people.get(key) ?? {
      key,
      name: user.name.slice(0, 80),
      kind,
      devices: [],
      count: 0,
      self: false,
      ids: new Set<string>(),
    };
    one.self ||= isSelf;
    one.ids.add(isSelf && mine.device ? mine.device : typeof user.device === "string" ? user.device : `client ${client}`);
    people.set(key, one);
  }
  const all = [...people.values()].map(({ ids, ...one }) => {
    const devices = [...ids].filter((id) => id !== mine.device).map((id) => mine.names.get(id) ?? "");
    return { ...one, count: ids.size, devices: one.self ? devices.filter(Boolean) : [] };
  });
  return all.sort((a, b) => Number(b.self) - Number(a.self) || a.name.localeCompare(b.name));
}

const STATES = ["reading", "thinking", "writing"] as const;

export function agentsHere(states: Map<number, unknown>): AgentHere[] {
  return [...states.values()].flatMap((state): AgentHere[] => {
    const { user, state: doing, turn, queued } = (state ?? {}) as State;
    if (user?.kind !== "agent" || typeof user.name !== "string") return [];
    return [
      {
        name: user.name.slice(0, 80),
        state: STATES.find((one) => one === doing) ?? null,
        turn: typeof turn === "string" ? turn : null,
        queued: typeof queued === "number" && queued > 0 ? Math.floor(queued) : 0,
      },
    ];
  });
}

export function peopleView(people: PersonHere[]): TemplateResult {
  return html`<ul class="people" aria-label=${say("people.here")}>
    ${people.map(
      (one) =>
        html`<li class="person tone-${toneOf({ id: one.key.split(":")[1], name: one.name, kind: one.kind })}" title=${titleOf(one)}>
          <span class="initial" aria-hidden="true">${[...one.name][0]?.toUpperCase() ?? "?"}</span>
          <span class="name"
            >${one.self ? say("people.you") : one.name}${one.kind === "agent" ? html` <small>${say("people.ai")}</small>` : nothing}</span
          >
          ${one.count > 1 ? html`<small class="devices">${say("people.devices", { n: one.count })}</small>` : nothing}
        </li>`,
    )}
  </ul>`;
}

/** "Your Chrome on Linux is also here", where it is. */
export function alsoHere(people: PersonHere[]): string | null {
  const self = people.find((one) => one.self && one.count > 1);
  if (!self) return null;
  const names = [...new Set(self.devices)];
  return names.length ? say("people.also", { devices: names.join(say("list.and")) }) : say("people.also_unnamed");
}

function titleOf(one: PersonHere): string {
  const who = one.self ? say("people.self", { name: one.name }) : one.name;
  return one.count > 1 ? `${who}, ${say("people.devices", { n: one.count })}` : who;
}
