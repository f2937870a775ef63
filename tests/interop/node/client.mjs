// Stock y-websocket clients, driven over stdin and stdout, one JSON a line. Nothing here is Clew's own.
//
//   {id, op: "open", name, url, room, version: 3 | 1, protocols?, params?, awareness?}
//   {id, op: "disconnect" | "connect" | "drop", name}      drop ends the TCP connection without a word
//   {id, op: "insert", name, at, text} · "type" {name, text, every}: one letter each `every` ms, at the end
//   {id, op: "replay", name, file, batch}                  an editing trace into the root "trace", so many edits at once
//   {id, op: "scribble", name, seed, edits, every}         random edits of "plain" and "rich", up to `every` ms apart
//   {id, op: "paste", name, length}                        so much text into the root "bulk"; 0 takes it out again
//   {id, op: "look", name} → {texts, vector, pending, synced}   of "plain" and "rich"
//   {id, op: "apply", name, hex}                           an update, as if another tab had brought it
//   {id, op: "raw", name, hex}                             a frame, beside what the provider says
//   {id, op: "presence", name, state}                      null clears it
//   {id, op: "read", name} → {text, vector, synced, connected, pending, present: {client: state}, connects, codes, client, unread}
//   {id, op: "barrier", name, number} → {ms}               by messageHandlers[100]
//   {id, op: "close", name}
// Every reply is {id, ...} or {id, error}.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { gunzipSync } from 'node:zlib'
import WebSocket from 'ws'
import * as Y from 'yjs'
import * as encoding from 'lib0/encoding'
import * as decoding from 'lib0/decoding'
import { WebsocketProvider as Provider3 } from 'y-websocket'
import { WebsocketProvider as Provider1 } from 'y-websocket-1'
import { scribble, standing } from './scribble.mjs'

const clients = new Map()
const isPending = doc => doc.store.pendingStructs !== null || doc.store.pendingDs !== null
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

// y-websocket 1.5 has no `protocols` option; what it has is the class that it makes sockets of.
const offering = protocols => class extends WebSocket {
  constructor (url) { super(url, protocols) }
}

const open = async ({ name, url, room, version, protocols, params = {}, presence }) => {
  const doc = new Y.Doc()
  const client = { doc, connects: 0, codes: [], barriers: new Map(), echoes: 0, removed: [], added: [] }
  const Provider = version === 1 ? Provider1 : Provider3
  const options = { WebSocketPolyfill: version === 1 ? offering(protocols) : WebSocket, params, protocols, disableBc: true }
  const provider = client.provider = new Provider(url, room, doc, options)
  clients.set(name, client)
  if (presence !== undefined) provider.awareness.setLocalState(presence)
  provider.on('status', ({ status }) => { if (status === 'connected') client.connects++ })
  provider.on('connection-close', event => { if (event) client.codes.push(event.code) })
  provider.awareness.on('change', ({ added, removed }) => {
    client.added.push(...added.map(id => [id, Date.now()]))
    client.removed.push(...removed.map(id => [id, Date.now()]))
  })
  provider.messageHandlers[100] = (_, decoder) => {
    const number = decoding.readVarUint(decoder)
    client.barriers.get(number)?.()
    client.barriers.delete(number)
  }
  const heard = provider.messageHandlers[0]
  provider.messageHandlers[0] = (...args) => {
    client.echoes++
    return heard(...args)
  }
  return { client: doc.clientID }
}

const barrier = (client, number) => new Promise((resolve, reject) => {
  const began = performance.now()
  client.barriers.set(number, () => resolve({ ms: performance.now() - began }))
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, 100)
  encoding.writeVarUint(encoder, number)
  client.provider.ws.send(encoding.toUint8Array(encoder))
  setTimeout(() => reject(new Error('no answer to the barrier')), 10000)
})

const ops = {
  async insert ({ doc }, { at, text }) { doc.getText('notes').insert(at, text) },
  async type ({ doc }, { text, every }) {
    const notes = doc.getText('notes')
    for (const letter of text) {
      notes.insert(notes.length, letter)
      await pause(every)
    }
  },
  async replay ({ doc }, { file, batch }) {
    const { txns } = JSON.parse(gunzipSync(readFileSync(file)))
    const patches = txns.flatMap(txn => txn.patches)
    const trace = doc.getText('trace')
    for (let at = 0; at < patches.length; at += batch) {
      doc.transact(() => {
        for (const [position, deleted, inserted] of patches.slice(at, at + batch)) {
          if (deleted) trace.delete(position, deleted)
          if (inserted) trace.insert(position, inserted)
        }
      })
      if (at % (batch * 10) === 0) await pause(0)
    }
    return { text: trace.toString() }
  },
  async scribble ({ doc }, options) { await scribble(doc, options) },
  async paste ({ doc }, { length }) {
    const bulk = doc.getText('bulk')
    if (length) bulk.insert(0, '-'.repeat(length))
    else bulk.delete(0, bulk.length)
  },
  async look ({ doc, provider }) {
    return { ...standing(doc), pending: isPending(doc), synced: provider.synced }
  },
  async apply ({ doc }, { hex }) { Y.applyUpdate(doc, Buffer.from(hex, 'hex'), 'another tab') },
  async raw ({ provider }, { hex }) { provider.ws.send(Buffer.from(hex, 'hex')) },
  async connect ({ provider }) { provider.connect() },
  async disconnect ({ provider }) { provider.disconnect() },
  async drop ({ provider }) { provider.shouldConnect = false; provider.ws.terminate() },
  async presence ({ provider }, { state }) { provider.awareness.setLocalState(state) },
  async barrier (client, { number }) { return barrier(client, number) },
  async read ({ doc, provider, connects, codes, echoes, added, removed }) {
    return {
      text: doc.getText('notes').toString(),
      vector: Object.fromEntries(Y.decodeStateVector(Y.encodeStateVector(doc))),
      synced: provider.synced,
      connected: provider.wsconnected,
      wants: provider.shouldConnect,
      pending: isPending(doc),
      present: Object.fromEntries(provider.awareness.getStates()),
      client: doc.clientID,
      connects, codes, echoes, added, removed
    }
  },
  async close ({ provider, doc }) { provider.destroy(); doc.destroy() }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, op, name, ...rest } = JSON.parse(line)
  const answer = op === 'open' ? open({ name, ...rest }) : ops[op](clients.get(name), rest)
  answer.then(reply => reply ?? {}, error => ({ error: String(error.stack) }))
    .then(reply => console.log(JSON.stringify({ id, ...reply })))
}
process.exit(0)
