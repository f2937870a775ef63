/**
 * Who is here. Owns how awareness states become people: several devices of one person are one entry. Must never put a
 * stranger's words anywhere but into text: tones are picked here, not taken from what a peer claims.
 */

import { html, nothing, type TemplateResult } from "lit";

export const TONES = 8;

export interface PersonHere {
  key: string;
  name: string;
  kind: string;
  devices: number;
  self: boolean;
}

interface State {
  user?: { id?: unknown; name?: unknown; kind?: unknown };
}

/** The same tone for one person on every screen. */
export function toneOf(user: { id?: unknown; name?: unknown }): number {
  const key = String(user.id ?? user.name ?? "");
  let sum = 0;
  for (const letter of key) sum = (sum * 31 + letter.codePointAt(0)!) >>> 0;
  return sum % TONES;
}

export function peopleHere(states: Map<number, unknown>, own: number): PersonHere[] {
  const people = new Map<string, PersonHere>();
  for (const [client, state] of states) {
    const user = (state as State | null)?.user;
    if (!user || typeof user.name !== "string") continue;
    const key = `${String(user.kind ?? "user")}:${String(user.id ?? user.name)}`;
    const known = people.get(key) ?? { key, name: user.name.slice(0, 80), kind: String(user.kind ?? "user"), devices: 0, self: false };
    people.set(key, { ...known, devices: known.devices + 1, self: known.self || client === own });
  }
  return [...people.values()].sort((a, b) => Number(b.self) - Number(a.self) || a.name.localeCompare(b.name));
}

export function peopleView(people: PersonHere[]): TemplateResult {
  return html`<ul class="people" aria-label="Who is here">
    ${people.map(
      (one) => html`<li class="person tone-${toneOf({ id: one.key.split(":")[1], name: one.name })}" title=${titleOf(one)}>
        <span class="initial" aria-hidden="true">${[...one.name][0]?.toUpperCase() ?? "?"}</span>
        <span class="name">${one.self ? "You" : one.name}${one.kind === "agent" ? html` <small>AI</small>` : nothing}</span>
        ${one.devices > 1 ? html`<small class="devices">${one.devices} devices</small>` : nothing}
      </li>`,
    )}
  </ul>`;
}

function titleOf(one: PersonHere): string {
  const who = one.self ? `${one.name} (you)` : one.name;
  return one.devices > 1 ? `${who}, on ${one.devices} devices` : who;
}
