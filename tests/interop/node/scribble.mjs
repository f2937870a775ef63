// Plain edits of two texts by index, which cut emoji in two as often as not; and what the texts are then.
import * as Y from 'yjs'
import { random } from './generate.mjs'
import { view } from './view.mjs'

const words = ['a', 'bc', ' ', '\n', '合同', '😀', '😀😀', 'a😀b', '👩‍👩‍👧', '😀 😀 😀']

const edit = (r, doc, mark) => {
  const text = doc.getText(r.chance(0.5) ? 'plain' : 'rich')
  const at = r.below(text.length + 1)
  const length = Math.min(text.length - at, 1 + r.below(4))
  if (r.chance(0.55) || !length) return text.insert(at, r.pick(words))
  if (text === doc.getText('plain') || r.chance(0.5)) return text.delete(at, length)
  // A value that nothing has yet: a format that changes nothing would split a pair here, and tell nobody.
  text.format(at, length, { [r.pick(['bold', 'size'])]: mark })
}

export const scribble = async (doc, { seed, edits, every }) => {
  const r = random(seed)
  for (let n = 0; n < edits; n++) {
    doc.transact(() => {
      for (let more = r.chance(0.8) ? 1 : 3; more > 0; more--) edit(r, doc, `${seed}.${n}.${more}`)
    })
    await new Promise(resolve => setTimeout(resolve, r.below(every + 1)))
  }
}

export const standing = doc => ({
  texts: { plain: view(doc.getText('plain')), rich: view(doc.getText('rich')) },
  vector: Object.fromEntries(Y.decodeStateVector(Y.encodeStateVector(doc)))
})
