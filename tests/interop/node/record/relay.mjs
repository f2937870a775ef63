// A y-websocket relay that writes down every frame it hears, with Clew's rules for gaps:
// an update whose dependencies are missing is dropped, provokes one SyncStep1 if the last one was answered,
// and what a Step2 lacked is asked for again once it may have arrived. Nothing of Clew runs here.
//
// node relay.mjs OUT.jsonl     prints the port; ends with its standard input
import fs from 'node:fs'
import { WebSocketServer } from 'ws'
import * as Y from 'yjs'
import * as encoding from 'lib0/encoding'
import * as decoding from 'lib0/decoding'

const out = fs.createWriteStream(process.argv[2], { flags: 'a' })
const began = performance.now()
const log = entry => out.write(JSON.stringify({ ...entry, t: Math.round(performance.now() - began) / 1000 }) + '\n')
const rooms = new Map()
let connections = 0

const frame = (kind, payload) => {
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, 0)
  encoding.writeVarUint(encoder, kind)
  encoding.writeVarUint8Array(encoder, payload)
  return encoding.toUint8Array(encoder)
}

const isGapped = (doc, update) => {
  const { structs, ds } = Y.decodeUpdate(update)
  const upTo = new Map()
  const known = client => upTo.get(client) ?? Y.getState(doc.store, client)
  for (const struct of structs) {
    if (struct.constructor.name === 'Skip' || struct.id.clock > known(struct.id.client)) return true
    upTo.set(struct.id.client, Math.max(known(struct.id.client), struct.id.clock + struct.length))
  }
  const missing = id => id != null && id.clock >= known(id.client)
  for (const { origin, rightOrigin, parent } of structs) {
    if (missing(origin) || missing(rightOrigin) || (parent instanceof Y.ID && missing(parent))) return true
  }
  return [...ds.clients].some(([client, ranges]) => ranges.some(r => r.clock + r.len > known(client)))
}

const openRoom = name => {
  const room = { name, doc: new Y.Doc(), peers: new Set(), states: new Map() }
  room.doc.on('update', update => {
    for (const peer of room.peers) peer.send(frame(2, update))
    for (const peer of room.peers) if (peer.lacks && !room.doc.store.pendingStructs) ask(room, peer)
  })
  rooms.set(name, room)
  return room
}

const ask = (room, peer) => {
  if (peer.asked) return
  peer.asked = true
  peer.lacks = false
  peer.send(frame(0, Y.encodeStateVector(room.doc)))
}

// As Clew does it: nothing is fanned out to a peer before its first Step2, and our own SyncStep1 follows that.
const greet = (room, peer) => {
  room.peers.add(peer)
  peer.asked = false
  ask(room, peer)
  if (room.states.size) peer.send(awareness([...room.states]))
}

const hearSync = (room, peer, decoder) => {
  const k = decoding.readVarUint(decoder)
  const payload = decoding.readVarUint8Array(decoder)
  const entry = { ev: 'f', conn: peer.conn, room: room.name, k, b: Buffer.from(payload).toString('base64') }
  if (k === 0) {
    log({ ...entry, res: 'step1' })
    peer.send(frame(1, Y.encodeStateAsUpdate(room.doc, payload)))
    if (!room.peers.has(peer)) greet(room, peer)
    return
  }
  const gapped = isGapped(room.doc, payload)
  log({ ...entry, res: gapped ? 'gap' : 'ok' })
  if (k === 1) {
    peer.asked = false
    peer.lacks = gapped
  } else if (gapped) {
    if (!peer.asked) log({ ev: 'reask', conn: peer.conn })
    ask(room, peer)
    return
  }
  Y.applyUpdate(room.doc, payload)
}

const awareness = states => {
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, states.length)
  for (const [client, { clock, json }] of states) {
    encoding.writeVarUint(encoder, client)
    encoding.writeVarUint(encoder, clock)
    encoding.writeVarString(encoder, json)
  }
  const around = encoding.createEncoder()
  encoding.writeVarUint(around, 1)
  encoding.writeVarUint8Array(around, encoding.toUint8Array(encoder))
  return encoding.toUint8Array(around)
}

const hearAwareness = (room, peer, decoder, bytes) => {
  const body = decoding.createDecoder(decoding.readVarUint8Array(decoder))
  const ids = []
  for (let n = decoding.readVarUint(body); n > 0; n--) {
    const client = decoding.readVarUint(body)
    const clock = decoding.readVarUint(body)
    const json = decoding.readVarString(body)
    ids.push(client)
    if (String(client) === peer.cid) {
      peer.clock = clock
      if (json === 'null') room.states.delete(client)
      else room.states.set(client, { clock, json })
    }
  }
  log({ ev: 'aw', conn: peer.conn, room: room.name, n: ids.length, ids })
  for (const other of room.peers) other.send(bytes)
}

const leave = (room, peer, code) => {
  log({ ev: 'close', conn: peer.conn, code })
  room.peers.delete(peer)
  const client = Number(peer.cid)
  const state = room.states.get(client)
  if (!state || [...room.peers].some(other => other.cid === peer.cid)) return
  room.states.delete(client)
  for (const other of room.peers) other.send(awareness([[client, { clock: state.clock + 1, json: 'null' }]]))
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => console.log(server.address().port))
server.on('connection', (socket, request) => {
  const url = new URL(request.url, 'ws://relay')
  const room = rooms.get(url.pathname) ?? openRoom(url.pathname)
  const q = Object.fromEntries(url.searchParams)
  const peer = { conn: ++connections, cid: q.cid, asked: true, lacks: false, send: bytes => socket.send(bytes, () => {}) }
  log({ ev: 'open', conn: peer.conn, room: room.name, q })
  socket.on('message', data => {
    const bytes = new Uint8Array(data)
    const decoder = decoding.createDecoder(bytes)
    const type = decoding.readVarUint(decoder)
    if (type === 0) hearSync(room, peer, decoder)
    else if (type === 1) hearAwareness(room, peer, decoder, bytes)
  })
  socket.on('error', () => {})
  socket.on('close', code => leave(room, peer, code))
})

process.stdin.resume()
process.stdin.on('end', () => out.end(() => process.exit(0)))
