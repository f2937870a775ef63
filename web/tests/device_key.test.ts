// @vitest-environment happy-dom
import "fake-indexeddb/auto";

import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import { Api } from "../src/sync/api";
import { DeviceKey } from "../src/sync/device_key";

const CHALLENGE = { "dpop-nonce": "n1", "www-authenticate": 'DPoP error="use_dpop_nonce"' };

interface Proven {
  header: { jwk: JsonWebKey; alg: string; typ: string };
  claims: Record<string, unknown>;
}

function read(proof: string): Proven {
  const [header, claims] = proof.split(".").map((part) => part.replace(/-/g, "+").replace(/_/g, "/"));
  return { header: JSON.parse(atob(header!)), claims: JSON.parse(atob(claims!)) } as Proven;
}

async function isSigned(proof: string): Promise<boolean> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const key = await crypto.subtle.importKey("jwk", read(proof).header.jwk, algorithm, false, ["verify"]);
  const [header, claims, signature] = proof.split(".");
  const bytes = Uint8Array.from(atob(signature!.replace(/-/g, "+").replace(/_/g, "/")), (one) => one.charCodeAt(0));
  const signed = new TextEncoder().encode(`${header}.${claims}`);
  return await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, bytes, signed);
}

/** A server that asks for its nonce, and lets in whoever repeats it; `refuse` answers before that. */
function server(refuse: (proof: string) => Response | null = () => null) {
  const proofs: string[] = [];
  const fetch = vi.fn(async (_: unknown, init?: RequestInit) => {
    const proof = (init!.headers as Record<string, string>)["dpop"] ?? "";
    proofs.push(proof);
    const refused = proof ? refuse(proof) : null;
    if (refused) return refused;
    if (proof && read(proof).claims["nonce"] !== "n1") return new Response("{}", { status: 401, headers: CHALLENGE });
    return new Response(JSON.stringify({ user: { id: "u1" } }), { status: 200, headers: { "dpop-nonce": "n1" } });
  });
  return { proofs, fetch };
}

beforeAll(() => vi.stubGlobal("isSecureContext", true));
beforeEach(async () => {
  localStorage.clear();
  await new DeviceKey().forget();
});

describe("a device's key", () => {
  test("is made at sign-in, proves each request, and learns the nonce by one more try", async () => {
    const { proofs, fetch } = server();
    const api = new Api("/api/v1", fetch);
    await api.signIn("link");
    await api.task("t1");
    expect(proofs.map((proof) => read(proof).claims["nonce"])).toEqual([undefined, "n1", "n1"]);
    const { header, claims } = read(proofs[2]!);
    expect(header).toMatchObject({ typ: "dpop+jwt", alg: "ES256", jwk: { kty: "EC", crv: "P-256" } });
    expect(Object.keys(header.jwk).sort()).toEqual(["crv", "kty", "x", "y"]);
    expect(claims).toMatchObject({ htm: "GET", htu: `${location.origin}/api/v1/tasks/t1` });
    expect(await isSigned(proofs[2]!)).toBe(true);
    expect(new Set(proofs.map((proof) => read(proof).claims["jti"])).size).toBe(3);
  });

  test("leaves query and fragment out of what it signs, and is the same for another page", async () => {
    const { proofs, fetch } = server();
    await new Api("/api/v1", fetch).signIn("link");
    await new Api("/api/v1", fetch).resume("t1");
    expect(read(proofs.at(-1)!).claims["htu"]).toBe(`${location.origin}/api/v1/tasks/t1/resume`);
    expect(new Set(proofs.map((proof) => JSON.stringify(read(proof).header.jwk))).size).toBe(1);
  });

  test("is another one for another person, and none once it was forgotten", async () => {
    let first = "";
    const refuse = (proof: string): Response | null => {
      const jwk = JSON.stringify(read(proof).header.jwk);
      first ||= jwk;
      if (jwk !== first) return null;
      return new Response(JSON.stringify({ code: "conflict", reason: "another_key" }), { status: 409 });
    };
    const { proofs, fetch } = server(refuse);
    const api = new Api("/api/v1", fetch);
    await api.signIn("link");
    expect(new Set(proofs.map((proof) => JSON.stringify(read(proof).header.jwk))).size).toBe(2);
    await api.signOut();
    await api.task("t1").catch(() => undefined);
    expect(proofs.at(-1)).toBe("");
  });

  test("is not tried over and over", async () => {
    const { proofs, fetch } = server(() => new Response("{}", { status: 401, headers: CHALLENGE }));
    await expect(new Api("/api/v1", fetch).signIn("link")).rejects.toMatchObject({ status: 401 });
    expect(proofs.length).toBe(2);
  });

  test("does not exist where the page is no secure context: then nothing is proven", async () => {
    vi.stubGlobal("isSecureContext", false);
    const { proofs, fetch } = server();
    await new Api("/api/v1", fetch).signIn("link");
    vi.stubGlobal("isSecureContext", true);
    expect(proofs).toEqual([""]);
  });
});
