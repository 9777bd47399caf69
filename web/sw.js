// The service worker: it caches the whole page, so that the page opens without a network. The build fills in the version
// and the list of files.
const VERSION = "__VERSION__";
const FILES = __FILES__;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(VERSION)
      .then((cache) => cache.addAll(FILES))
      .then(() => self.skipWaiting()),
  );
});

/** A file of this version, or of the version of an open tab; the names of those differ. */
async function find(request) {
  const own = await caches.match(request, { cacheName: VERSION });
  return own ?? (await caches.match(request)) ?? fetch(request);
}

/**
 * Deletes the caches of other versions, except of those that a tab uses: it loads some files only when they are needed, and the
 * server may have them no longer. Each tab holds a lock with the address of its script.
 */
async function deleteUnused() {
  const { held } = await self.navigator.locks.query();
  for (const name of await caches.keys()) {
    if (!name.startsWith("khorovod-") || name === VERSION) continue;
    const cache = await caches.open(name);
    const scripts = held.map((lock) => lock.name).filter((lock) => lock.startsWith("http"));
    const used = await Promise.all(scripts.map((script) => cache.match(script)));
    if (!used.some(Boolean)) await caches.delete(name);
  }
}

self.addEventListener("activate", (event) => {
  event.waitUntil(deleteUnused().then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  // The page itself comes from the network if possible, as only the newest one names the newest files.
  if (request.mode === "navigate") {
    event.respondWith(fetch(request).catch(() => caches.match("./index.html", { cacheName: VERSION })));
    event.waitUntil(deleteUnused());
    return;
  }
  event.respondWith(find(request));
});
