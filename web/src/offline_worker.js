/**
 * Keeps the page's own files, so that a task opens where the server cannot be reached. Owns nothing that people wrote: tasks
 * are in IndexedDB, and the API is never answered from here. The build puts the list of files in.
 */

const FILES = "__FILES__";
const CACHE = "clew-__VERSION__";
/** A server that takes longer than this for the page is not there. */
const PATIENCE = 3_000;
const PAGE = /^\/(?:(?:t|d|s|h|i|device|settings|devices)(?:\/[\w-]{1,64})*\/?)?$/;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
  // past this worker, where a browser can: what a page says in its last moment would be lost on the way through it
  event.addRoutes?.([{ condition: { urlPattern: { pathname: "/api/*" } }, source: "network" }]);
});

self.addEventListener("activate", (event) => event.waitUntil(forgetOlder().then(() => self.clients.claim())));

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate" && PAGE.test(pathname)) event.respondWith(newest(request));
  else if (FILES.includes(pathname)) event.respondWith(caches.match(pathname).then((kept) => kept ?? fetch(request)));
});

/** The page from the server; ours where it is away. */
async function newest(request) {
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(PATIENCE) });
    if (answer.status < 500) return answer;
    return (await caches.match("/")) ?? answer;
  } catch (error) {
    const kept = await caches.match("/");
    if (kept) return kept;
    throw error;
  }
}

async function forgetOlder() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("clew-") && name !== CACHE).map((name) => caches.delete(name)));
}
