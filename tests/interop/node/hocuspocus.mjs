// Stock Hocuspocus providers, driven over stdin and stdout, one JSON a line. Nothing here is Clew's own.
//
//   {id, op: "open", name, url, room, version: 4 | 3, token, socket?, slow?, flushDelay?, sessionAwareness?}
//        several with one `socket` share it; `slow` ms pass before the token is there, while the client talks already
//   {id, op: "insert", name, at, text} · "type" {name, text, every}
//   {id, op: "token", name, token}                  show another credential on the same socket
//   {id, op: "sync", name}                          forceSync
//   {id, op: "say", name, payload}                  a stateless message
//   {id, op: "raw", name, hex}                      a frame, beside what the provider says
//   {id, op: "lose", name, count}                   the next `count` frames do not leave this client
//   {id, op: "detach" | "attach", name}
//   {id, op: "drop" | "connect", name}              drop ends the TCP connection without a word, until connect
//   {id, op: "presence", name, state}
//   {id, op: "read", name} → {text, vector, synced, unsynced, scope, denied, closed, heard, present, opens, client}
//   {id, op: "close", name}
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import WebSocket from 'ws'
import * as Y from 'yjs'
import * as four from '@hocuspocus/provider'
import * as three from 'hocuspocus-provider-3'

const clients = new Map()
const sockets = new Map()
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

// In a browser a socket's error that nobody listens to is nothing; in Node it ends the process, and provider 3 lets go of
// sockets that are still connecting.
class Socket extends WebSocket {
  constructor (...given) {
    super(...given)
    this.on('error', () => {})
  }
}

const socketOf = (key, url, { HocuspocusProviderWebsocket }) => {
  if (!sockets.has(key)) {
    const socket = new HocuspocusProviderWebsocket({ url, WebSocketPolyfill: Socket, delay: 50, minDelay: 50 })
    const shared = { socket, opens: 0, codes: [], lose: 0, asked: 0, unanswered: 0 }
    socket.on('open', () => shared.opens++)
    socket.on('close', ({ event }) => shared.codes.push(event.code))
    const send = socket.send.bind(socket)
    socket.send = frame => { if (shared.lose > 0) shared.lose--; else send(frame) }
    sockets.set(key, shared)
  }
  return sockets.get(key)
}

const open = async ({ name, url, room, version, token, socket, slow = 0, flushDelay, sessionAwareness }) => {
  const library = version === 3 ? three : four
  const shared = socketOf(socket ?? name, url, library)
  const doc = new Y.Doc()
  const client = { doc, shared, token, denied: [], closed: [], heard: [], scopes: [], counts: [] }
  clients.set(name, client)
  client.provider = new library.HocuspocusProvider({
    websocketProvider: shared.socket,
    name: room,
    document: doc,
    token: async () => { await pause(slow); return client.token },
    onAuthenticated: () => client.scopes.push(client.provider?.authorizedScope),
    onAuthenticationFailed: ({ reason }) => client.denied.push(reason),
    onClose: ({ event }) => client.closed.push([event.code, event.reason]),
    onStateless: ({ payload }) => client.heard.push(payload),
    onUnsyncedChanges: ({ number }) => client.counts.push(number),
    ...(flushDelay === undefined ? {} : { flushDelay }),
    ...(sessionAwareness === undefined ? {} : { sessionAwareness }),
  })
  client.provider.attach()
  return { client: doc.clientID }
}

const ops = {
  async insert ({ doc }, { at, text }) { doc.getText('notes').insert(at, text) },
  async type ({ doc }, { text, every }) {
    const notes = doc.getText('notes')
    for (const letter of text) {
      notes.insert(notes.length, letter)
      await pause(every)
    }
  },
  async token (client, { token }) {
    client.token = token
    await client.provider.sendToken()
  },
  async sync ({ provider }) { provider.forceSync() },
  async say ({ provider }, { payload }) { provider.sendStateless(payload) },
  async raw ({ shared }, { hex }) { shared.socket.webSocket.send(Buffer.from(hex, 'hex')) },
  async lose ({ shared }, { count }) { shared.lose = count },
  async detach ({ provider }) { provider.detach() },
  async attach ({ provider }) { provider.attach() },
  async drop ({ shared: { socket } }) {
    // It is told to stay away first: who is dropped and wants to be back has a timer, and who connects beside it waits
    // for an attempt that the timer's has replaced.
    socket.shouldConnect = false
    const gone = once(socket.webSocket, 'close')
    socket.webSocket.terminate()
    await gone
  },
  async connect ({ shared }) { await shared.socket.connect() },
  async presence ({ provider }, { state }) { provider.awareness.setLocalState(state) },
  async read ({ doc, provider, shared, denied, closed, heard, scopes, counts }) {
    return {
      text: doc.getText('notes').toString(),
      vector: Object.fromEntries(Y.decodeStateVector(Y.encodeStateVector(doc))),
      synced: provider.synced,
      pending: doc.store.pendingStructs !== null || doc.store.pendingDs !== null,
      unsynced: provider.unsyncedChanges,
      scope: provider.authorizedScope,
      present: Object.fromEntries(provider.awareness.getStates()),
      client: doc.clientID,
      opens: shared.opens,
      codes: shared.codes,
      denied, closed, heard, scopes, counts
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
