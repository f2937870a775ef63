// Real y-protocols Awareness instances, driven line by line over stdin by tests/interop/test_awareness.py.
//
// {"do": "open", "peer": n, "client": id}         a document, and its Awareness as y-websocket makes it
// {"do": "set", "peer": n, "state": object|null}  setLocalState
// {"do": "own", "peer": n}                        its own state, as sent on opening
// {"do": "goodbye", "peer": n}                    null at the same clock, as provider.disconnect() sends it
// {"do": "close", "peer": n}                      a closed socket: everybody else is removed
// {"do": "apply", "peer": n, "update": base64}    a frame's body from the server
// Each answer is {"sent": [base64, …], "states": {id: state}}: what y-websocket would send on, and what is visible.
import { createInterface } from 'node:readline'
import * as Y from 'yjs'
import { Awareness, applyAwarenessUpdate, encodeAwarenessUpdate, removeAwarenessStates } from 'y-protocols/awareness'

const peers = new Map()

const open = client => {
  const doc = new Y.Doc()
  doc.clientID = client
  const awareness = new Awareness(doc)
  clearInterval(awareness._checkInterval) // time is the test's
  const peer = { awareness, sent: [] }
  awareness.on('update', ({ added, updated, removed }) => {
    peer.sent.push(encodeAwarenessUpdate(awareness, added.concat(updated, removed)))
  })
  return peer
}

const act = (peer, request) => {
  const { awareness } = peer
  const own = [awareness.clientID]
  switch (request.do) {
    case 'set': return awareness.setLocalState(request.state)
    case 'own': return peer.sent.push(encodeAwarenessUpdate(awareness, own))
    case 'goodbye': return peer.sent.push(encodeAwarenessUpdate(awareness, own, new Map()))
    case 'close':
      removeAwarenessStates(awareness, [...awareness.getStates().keys()].filter(id => id !== awareness.clientID), 'close')
      peer.sent = []
      return
    case 'apply': return applyAwarenessUpdate(awareness, Buffer.from(request.update, 'base64'), 'server')
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  if (request.do === 'open') peers.set(request.peer, open(request.client))
  const peer = peers.get(request.peer)
  act(peer, request)
  const sent = peer.sent.map(update => Buffer.from(update).toString('base64'))
  peer.sent = []
  process.stdout.write(JSON.stringify({ sent, states: Object.fromEntries(peer.awareness.getStates()) }) + '\n')
}
