/**
 * What the server tells a person's devices at once. Owns that each notice is heard once a tab, over whichever socket it came
 * first. A notice proves nothing: whoever acts on one asks the server.
 */

import type { Task } from "./api";

export interface Joined {
  kind: "device-joined";
  id: string;
  device: { id: string; name: string; kind: string };
  /** Where it was let in to one task alone: that task, and until when. */
  task: string | null;
  until: string | null;
}

export interface Claimed {
  kind: "handoff-claimed";
  id: string;
  handoff: string;
}

export type Notice = Joined | Claimed;

/** A device that this very tab has let in: there is nothing to be told of it here. */
export interface Welcomed {
  kind: "welcomed";
  device: string;
}

const REMEMBERED = 100;
const heard: string[] = [];
const listeners = new Set<(notice: Notice | Welcomed) => void>();

/** Returns how to stop. */
export function onNotice(listener: (notice: Notice | Welcomed) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function welcome(device: string): void {
  for (const listener of listeners) listener({ kind: "welcomed", device });
}

/** Take what came in a frame; what is no notice that this page knows is let go. */
export function hear(json: string): void {
  const notice = read(json);
  if (!notice || heard.includes(notice.id)) return;
  heard.push(notice.id);
  if (heard.length > REMEMBERED) heard.shift();
  for (const listener of listeners) listener(notice);
}

function read(json: string): Notice | null {
  try {
    const value = JSON.parse(json) as Notice;
    return typeof value.id === "string" && ["device-joined", "handoff-claimed"].includes(value.kind) ? value : null;
  } catch {
    return null;
  }
}

/** What one may do in a task from now on. */
export interface Told {
  task: string;
  role: Task["role"];
}

const ROLES = ["viewer", "commenter", "editor", "owner"] as const;

/** A notice of that, which holds for the socket that it came by; null for any other. */
export function roleIn(json: string): Told | null {
  try {
    const { kind, task, role } = JSON.parse(json) as Record<string, unknown>;
    const known = ROLES.find((one) => one === role);
    return kind === "role" && typeof task === "string" && known ? { task, role: known } : null;
  } catch {
    return null;
  }
}

/** The name by which one is called from now on; null for any other notice. */
export function nameIn(json: string): string | null {
  try {
    const { kind, name } = JSON.parse(json) as Record<string, unknown>;
    return kind === "renamed" && typeof name === "string" ? name : null;
  } catch {
    return null;
  }
}

const CHANNEL = "clew-signed-out";

/** Tell this browser's other tabs that nobody is signed in here any more. They ask the server whether that is so. */
export function tellSignedOut(): void {
  if (!("BroadcastChannel" in globalThis)) return;
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(null);
  channel.close();
}

export function onSignedOut(listener: () => void): () => void {
  if (!("BroadcastChannel" in globalThis)) return () => undefined;
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = listener;
  return () => channel.close();
}
