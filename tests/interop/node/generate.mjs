// Random editing by several Yjs replicas, written down as one log that a server could have admitted:
// every entry comes after what it depends on; some entries are re-syncs that overlap earlier ones.
import * as Y from 'yjs'
import { open, view } from './view.mjs'

export const roots = { body: 'text', list: 'array', items: 'map', prose: 'xml' }

// mulberry32: 32 bits of state are enough to try things out, and a seed repeats a run exactly.
export const random = seed => {
  let a = seed >>> 0
  const next = () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = n => Math.floor(next() * n)
  return { chance: p => next() < p, below, pick: list => list[below(list.length)] }
}

const words = ['a', 'bc', ' ', 'def ', '\n', 'ü', '日本語', 'e\u0301', 'x'.repeat(40)]
const emoji = ['😀', 'a😀b', '👩‍👩‍👧', '😀😀']

const scalar = r => r.pick([
  () => r.below(1000), () => -r.below(70), () => r.below(2 ** 31) * 3000, () => 0.5, () => -0, () => NaN, () => 1e300,
  () => true, () => false, () => null, () => r.pick(words), () => r.pick(emoji), () => ({ u: undefined, n: BigInt(r.below(9)) }),
  () => new Uint8Array([r.below(256), 0, 255]), () => ({ k: r.below(5), n: [1, { m: r.pick(words) }] }), () => [1, 'two', [null]]
])()

const nested = r => r.pick([
  () => new Y.Text(r.pick(words)), () => new Y.Map([['k', r.below(9)]]), () => Y.Array.from([r.below(9), 'x']),
  () => new Y.XmlText(r.pick(words)), () => new Y.XmlElement('paragraph'), () => new Y.XmlFragment(),
  () => new Y.Doc({ guid: `doc-${r.below(1000)}` })
])()

// Where to cut: yjs replaces halves of a split surrogate pair by U+FFFD, which only `split` asks for.
const spot = (r, text, split) => {
  let at = r.below(text.length + 1)
  const code = text.charCodeAt(at - 1)
  if (!split && code >= 0xd800 && code < 0xdc00) at += 1
  return at
}

const editText = (r, type, split) => {
  const text = type.toDelta().map(({ insert }) => (typeof insert === 'string' ? insert : '\ufffc')).join('')
  const at = spot(r, text, split)
  const to = text.length > at ? Math.min(text.length, at + 1 + r.below(6)) : at
  const code = text.charCodeAt(to - 1)
  const end = !split && to > at && code >= 0xd800 && code < 0xdc00 ? to + 1 : to
  switch (r.below(8)) {
    case 0: case 1: case 2:
      return type.insert(at, r.chance(split ? 0.6 : 0.2) ? r.pick(emoji) : r.pick(words))
    case 3:
      return type.insert(at, r.pick(words), r.pick([{ bold: true }, { italic: true, link: { href: 'x' } }, {}]))
    case 4: case 5:
      return end > at && type.delete(at, end - at)
    case 6:
      return end > at && type.format(at, end - at, r.pick([{ bold: true }, { bold: null }, { size: 12 }]))
    case 7:
      return r.chance(0.5)
        ? type.insertEmbed(at, r.chance(0.5) ? { image: r.pick(words) } : new Y.Map([['k', 1]]))
        : type.setAttribute(r.pick(['p', 'q']), r.below(9))
  }
}

const editArray = (r, type) => {
  const at = r.below(type.length + 1)
  if (r.chance(0.3) && at < type.length) return type.delete(at, 1 + r.below(Math.min(3, type.length - at)))
  type.insert(at, r.chance(0.3) ? [nested(r)] : Array.from({ length: 1 + r.below(4) }, () => scalar(r)))
}

const editMap = (r, type) => {
  const key = r.pick(['a', 'b', 'c', 'ключ'])
  if (r.chance(0.2)) return type.delete(key)
  type.set(key, r.chance(0.4) ? nested(r) : scalar(r))
}

const editXml = (r, type) => {
  if (type instanceof Y.XmlElement && r.chance(0.3)) {
    return r.chance(0.2) ? type.removeAttribute('level') : type.setAttribute('level', String(r.below(4)))
  }
  const at = r.below(type.length + 1)
  if (r.chance(0.2) && at < type.length) return type.delete(at, 1)
  // No XmlHook: yrs cannot read it.
  const made = r.pick([() => new Y.XmlElement(r.pick(['paragraph', 'heading'])), () => new Y.XmlText(r.pick(words))])()
  type.insert(at, [made])
}

const edit = (r, type, split) => {
  for (let depth = 0; depth < 4 && r.chance(0.6); depth++) {
    const inner = (type instanceof Y.Map ? [...type.values()] : type instanceof Y.Text ? [] : type.toArray())
      .filter(child => child instanceof Y.AbstractType)
    if (!inner.length) break
    type = r.pick(inner)
  }
  if (type instanceof Y.Text) editText(r, type, split)
  else if (type instanceof Y.Map) editMap(r, type)
  else if (type instanceof Y.XmlFragment) editXml(r, type)
  else editArray(r, type)
}

class Writer {
  constructor (r, clientID, gc) {
    this.doc = new Y.Doc({ gc, guid: 'generated' })
    this.doc.clientID = clientID
    this.heard = 0
    this.unsent = []
    this.lastVector = new Uint8Array([0])
    this.roots = Object.entries(roots).map(([name, kind]) => open(this.doc, name, kind))
    this.undo = new Y.UndoManager(this.roots, { captureTimeout: 0 })
    this.doc.on('update', (update, origin) => origin !== 'log' && this.unsent.push(update))
    this.r = r
  }

  act (split) {
    const r = this.r
    if (r.chance(0.08)) return r.chance(0.7) ? this.undo.undo() : this.undo.redo()
    this.doc.transact(() => {
      for (let n = r.chance(0.8) ? 1 : 1 + r.below(5); n > 0; n--) edit(r, r.pick(this.roots), split)
    })
  }

  hear (log) {
    for (; this.heard < log.length; this.heard++) Y.applyUpdate(this.doc, log[this.heard], 'log')
  }

  send (log, resync) {
    if (resync && this.r.chance(0.3)) log.push(Y.encodeStateAsUpdate(this.doc, this.lastVector))
    else log.push(...this.unsent)
    if (this.r.chance(0.2)) this.lastVector = Y.encodeStateVector(this.doc)
    this.unsent = []
  }
}

export const generate = ({ seed, clients = 2, steps = 60, gc = true, split = false, resync = true }) => {
  const r = random(seed)
  const log = []
  const ids = new Set()
  while (ids.size < clients) ids.add(1 + r.below(r.chance(0.5) ? 200 : 2 ** 32 - 1))
  const writers = [...ids].map(id => new Writer(r, id, gc))
  for (let n = 0; n < steps; n++) {
    const writer = r.pick(writers)
    if (r.chance(0.3)) writer.hear(log)
    if (r.chance(0.4)) writer.send(log, resync)
    writer.act(split)
  }
  for (const writer of writers) writer.send(log, false)
  const finals = writers.map(writer => {
    writer.hear(log)
    return Object.fromEntries(Object.entries(roots).map(([name], at) => [name, view(writer.roots[at])]))
  })
  return { updates: log, roots, finals }
}
