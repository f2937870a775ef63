/**
 * Passkeys in this browser: making one, using one. Owns the way between the server's JSON and the browser's own objects; must
 * never ask the person for anything that they did not begin by a press.
 */

import { Problem } from "./api";
import type { Accounts, Json } from "./account";

/** An event of the window: one was added or removed here. */
export const PASSKEYS_CHANGED = "passkeys-changed";

const NUMBERS = /^(\d+(\.\d+){3}|\[.*\])$/;

/** Whether this page can: passkeys want HTTPS or this machine, and a name instead of an address in numbers. */
export function canUsePasskeys(): boolean {
  return globalThis.isSecureContext === true && knowsPasskeys() && !NUMBERS.test(location.hostname);
}

/** Where it could by another address: by its name instead of numbers. Null where there is no such address. */
export function addressForPasskeys(): string | null {
  const isLoopback = /^(127(\.\d+){3}|\[::1\])$/.test(location.hostname);
  return isLoopback && knowsPasskeys() ? `${location.protocol}//localhost:${location.port}` : null;
}

export async function addPasskey(accounts: Accounts): Promise<void> {
  const options = await freshly(accounts, () => accounts.options("/passkeys"));
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never);
  await accounts.addPasskey(await told(navigator.credentials.create({ publicKey })));
  globalThis.dispatchEvent?.(new Event(PASSKEYS_CHANGED));
}

export async function removePasskey(accounts: Accounts, id: string): Promise<void> {
  await freshly(accounts, () => accounts.removePasskey(id));
  globalThis.dispatchEvent?.(new Event(PASSKEYS_CHANGED));
}

export async function enterByPasskey(accounts: Accounts): Promise<void> {
  await accounts.enterByPasskey(await used(await accounts.options("/signin/passkey")));
}

/** Have the person show that it is them. */
export async function prove(accounts: Accounts): Promise<void> {
  await accounts.prove(await used(await accounts.options("/passkeys/proof")));
}

/** The person has closed the browser's own dialog, or let it run out: nothing to complain of. */
export class Abandoned extends Error {}

/** What asks for a person who has just shown that it is them: they show it where they have not. */
export async function freshly<T>(accounts: Accounts, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Problem) || error.reason !== "unproven") throw error;
    await prove(accounts);
    return await act();
  }
}

async function used(options: Json): Promise<Json> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never);
  return await told(navigator.credentials.get({ publicKey }));
}

async function told(asked: Promise<Credential | null>): Promise<Json> {
  try {
    const credential = (await asked) as PublicKeyCredential | null;
    if (!credential) throw new Abandoned();
    return credential.toJSON() as unknown as Json;
  } catch (error) {
    if (error instanceof DOMException && (error.name === "NotAllowedError" || error.name === "AbortError")) throw new Abandoned();
    throw error;
  }
}

function knowsPasskeys(): boolean {
  return typeof globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON === "function";
}
