// Yjs itself, asked over stdin and stdout: one JSON request per line, one JSON reply per line.
// Owns nothing; a request never changes what a later one sees. Bytes travel as base64. A failure is {error}.
//
//   load     {updates, roots, gc?, cleanup?} → {json, sv, ds, pending, state}
//   state    {updates, sv?, gc?, cleanup?}   → {update}           Y.encodeStateAsUpdate
//   merge    {updates}                       → {update}           Y.mergeUpdates
//   diff     {update, sv}                    → {update}           Y.diffUpdate
//   vector   {update}                        → {sv}               Y.encodeStateVectorFromUpdate
//   generate {seed, clients, steps, gc?, split?, resync?}         → {updates, roots, finals}: a log whose every entry
//            follows what it depends on; finals are each client's own view after it heard everything. With split they may
//            differ from a fresh replica: yjs splits a pair for a deletion or a format that no update tells of
//   batch    {requests}                      → {replies}
//   ping     {}                              → {yjs}
//
// `ds` is {client: [[clock, length], …]}, everything deleted in the document, sorted and joined.
// `cleanup: false` keeps yjs from tidying formats after remote transactions, which makes deletions (and, rarely, what is
// bold) depend on how updates were batched.
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import * as Y from 'yjs'
import { generate } from './generate.mjs'
import { open, view } from './view.mjs'

const bytes = text => new Uint8Array(Buffer.from(text, 'base64'))
const base64 = data => Buffer.from(data).toString('base64')

const replica = ({ updates, gc = true, cleanup = true }) => {
  const doc = new Y.Doc({ gc })
  if (!cleanup) doc.on('beforeObserverCalls', keepFormats)
  for (const update of updates) Y.applyUpdate(doc, bytes(update), 'oracle')
  return doc
}

const keepFormats = transaction =>
  Object.defineProperty(transaction, '_needFormattingCleanup', { get: () => false, set () {} })

const deleted = doc => {
  const out = {}
  for (const [client, structs] of doc.store.clients) {
    const ranges = []
    for (const { id, length, deleted } of structs) {
      if (!deleted) continue
      const last = ranges.at(-1)
      if (last && last[0] + last[1] === id.clock) last[1] += length
      else ranges.push([id.clock, length])
    }
    if (ranges.length) out[client] = ranges
  }
  return out
}

const ops = {
  ping: () => ({
    yjs: JSON.parse(readFileSync(createRequire(import.meta.url).resolve('yjs/package.json'))).version
  }),
  load ({ roots = {}, ...options }) {
    const doc = replica(options)
    const json = {}
    for (const [name, kind] of Object.entries(roots)) json[name] = view(open(doc, name, kind))
    return {
      json,
      sv: base64(Y.encodeStateVector(doc)),
      ds: deleted(doc),
      pending: doc.store.pendingStructs !== null || doc.store.pendingDs !== null,
      state: base64(Y.encodeStateAsUpdate(doc))
    }
  },
  state: ({ sv, ...options }) => ({ update: base64(Y.encodeStateAsUpdate(replica(options), sv && bytes(sv))) }),
  merge: ({ updates }) => ({ update: base64(Y.mergeUpdates(updates.map(bytes))) }),
  diff: ({ update, sv }) => ({ update: base64(Y.diffUpdate(bytes(update), bytes(sv))) }),
  vector: ({ update }) => ({ sv: base64(Y.encodeStateVectorFromUpdate(bytes(update))) }),
  generate (options) {
    const { updates, ...rest } = generate(options)
    return { updates: updates.map(base64), ...rest }
  },
  batch: ({ requests }) => ({ replies: requests.map(answer) })
}

const answer = request => {
  try {
    return ops[request.op](request)
  } catch (error) {
    return { error: `${error.name}: ${error.message}` }
  }
}

// A warning on stdout would be taken for a reply.
console.log = console.warn = console.error

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + '\n')
}
