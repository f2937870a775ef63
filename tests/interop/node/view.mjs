// A Yjs type as plain JSON that loses nothing which two replicas could differ in.
import * as Y from 'yjs'

const getters = {
  text: 'getText', array: 'getArray', map: 'getMap', xml: 'getXmlFragment', fragment: 'getXmlFragment'
}

export const open = (doc, name, kind) =>
  kind === 'xmltext' ? doc.get(name, Y.XmlText) : kind === 'element' ? doc.get(name, Y.XmlElement) : doc[getters[kind]](name)

const sorted = entries => Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))

export const view = value => {
  if (value instanceof Y.XmlElement) {
    return {
      element: value.nodeName,
      attributes: view(value.getAttributes()),
      children: value.toArray().map(view)
    }
  }
  if (value instanceof Y.XmlFragment) return { fragment: value.toArray().map(view) }
  if (value instanceof Y.Text) {
    return {
      [value instanceof Y.XmlText ? 'xmltext' : 'text']: value.toDelta().map(({ insert, attributes }) =>
        attributes ? { insert: view(insert), attributes: view(attributes) } : { insert: view(insert) }),
      entries: view(value.getAttributes())
    }
  }
  if (value instanceof Y.Map) return { map: sorted([...value.entries()].map(([key, item]) => [key, view(item)])) }
  if (value instanceof Y.Array) return { array: value.toArray().map(view) }
  if (value instanceof Y.Doc) return { document: value.guid }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  if (value === undefined) return { undefined: true }
  if (typeof value === 'bigint') return { bigint: String(value) }
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0))) return { number: Object.is(value, -0) ? '-0' : String(value) }
  if (Array.isArray(value)) return value.map(view)
  if (value !== null && typeof value === 'object') return sorted(Object.entries(value).map(([key, item]) => [key, view(item)]))
  return value
}
