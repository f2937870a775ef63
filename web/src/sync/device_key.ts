/**
 * The key by which this browser proves that it is this device, and not somebody who copied its cookie (RFC 9449). Owns the
 * pair in IndexedDB, whose private half no script can read, and the server's nonce; must never send, keep or show a private
 * key. Where the page is no secure context (plain HTTP on another host than this machine) there is none, and the server is
 * told nothing.
 */

const DATABASE = "clew-device";
const STORE = "keys";
const CURRENT = "current";
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" };

/** `user` is whose it is; null until somebody has signed in with it. */
interface Kept {
  pair: CryptoKeyPair;
  user: string | null;
}

const encoder = new TextEncoder();

export class DeviceKey {
  #kept: Promise<Kept | null> | null = null;
  #jwk: { of: CryptoKey; jwk: JsonWebKey } | null = null;
  #nonce = keptNonce();
  /** By how many milliseconds the server's clock is ahead of this one. */
  #ahead = 0;

  /** Whether this page can have a key at all. */
  static get isPossible(): boolean {
    return globalThis.isSecureContext === true && !!globalThis.crypto?.subtle && !!globalThis.indexedDB;
  }

  /** The value of a DPoP header for one request; null where there is no key. */
  async proof(method: string, address: string): Promise<string | null> {
    const kept = await this.#load();
    if (!kept) return null;
    const { origin, pathname } = new URL(address, location.origin);
    const header = { typ: "dpop+jwt", alg: "ES256", jwk: await this.#publicOf(kept.pair.publicKey) };
    const claims = {
      jti: base64url(crypto.getRandomValues(new Uint8Array(16))),
      htm: method,
      htu: origin + pathname,
      iat: Math.floor((Date.now() + this.#ahead) / 1000),
      ...(this.#nonce ? { nonce: this.#nonce } : {}),
    };
    const signed = `${part(header)}.${part(claims)}`;
    const how = { name: "ECDSA", hash: "SHA-256" };
    const signature = await crypto.subtle.sign(how, kept.pair.privateKey, encoder.encode(signed));
    return `${signed}.${base64url(new Uint8Array(signature))}`;
  }

  /** Learn from an answer; whether the same request, proven anew, may be taken now. */
  hear(answer: Response): boolean {
    const nonce = answer.headers.get("dpop-nonce");
    if (!nonce) return false;
    if (nonce !== this.#nonce) {
      this.#nonce = nonce;
      void this.#load().then((kept) => kept && keepNonce(nonce)); // who has no key leaves nothing here
    }
    if (!answer.headers.get("www-authenticate")?.includes("use_dpop_nonce")) return false;
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (Number.isFinite(date)) this.#ahead = date - Date.now();
    this.#kept = null; // another tab may have signed in since
    return DeviceKey.isPossible;
  }

  /** Have a key before signing in: the one that is here, or a new one. */
  async ensure(): Promise<void> {
    if (!(await this.#load())) await this.renew();
  }

  /** Another key than the one that is here: that one is another person's. */
  async renew(): Promise<void> {
    if (!DeviceKey.isPossible) return;
    try {
      const pair = await crypto.subtle.generateKey(ALGORITHM, false, ["sign"]);
      await this.#keep({ pair, user: null });
    } catch {
      this.#kept = null; // a browser that keeps no keys, as some do in private windows
    }
  }

  /** Somebody has signed in with it. */
  async claim(user: string): Promise<void> {
    const kept = await this.#load();
    if (kept && kept.user !== user) await this.#keep({ ...kept, user }).catch(() => undefined);
  }

  /** Whoever signs in next gets one of their own. */
  async forget(): Promise<void> {
    this.#kept = Promise.resolve(null);
    this.#nonce = "";
    dropNonce();
    if (DeviceKey.isPossible) await dropped();
  }

  #load(): Promise<Kept | null> {
    if (!DeviceKey.isPossible) return Promise.resolve(null);
    this.#kept ??= transact<Kept | undefined>("readonly", (store) => store.get(CURRENT)).then(
      (kept) => kept ?? null,
      () => null,
    );
    return this.#kept;
  }

  async #keep(kept: Kept): Promise<void> {
    await transact("readwrite", (store) => store.put(kept, CURRENT));
    this.#kept = Promise.resolve(kept);
  }

  async #publicOf(key: CryptoKey): Promise<JsonWebKey> {
    if (this.#jwk?.of !== key) {
      const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", key);
      this.#jwk = { of: key, jwk: { kty, crv, x, y } as JsonWebKey };
    }
    return this.#jwk.jwk;
  }
}

/** The last nonce is kept for the next page, which else would have to ask for one; it is no secret, and short-lived. */
const NONCE = "clew.nonce";

function keptNonce(): string {
  try {
    return localStorage.getItem(NONCE) ?? "";
  } catch {
    return "";
  }
}

function keepNonce(nonce: string): void {
  try {
    localStorage.setItem(NONCE, nonce);
  } catch {
    // a browser that keeps nothing
  }
}

function dropNonce(): void {
  try {
    localStorage.removeItem(NONCE);
  } catch {
    // a browser that keeps nothing
  }
}

/** The whole database is gone; or will be, once another tab lets go of it. */
function dropped(): Promise<void> {
  return new Promise((resolve) => {
    const asked = indexedDB.deleteDatabase(DATABASE);
    asked.onsuccess = asked.onerror = asked.onblocked = () => resolve();
  });
}

function part(value: unknown): string {
  return base64url(encoder.encode(JSON.stringify(value)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}

/** One request to the store, done when it is on its way to the disk. */
async function transact<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest): Promise<T> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const asked = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(asked.result as T);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}
