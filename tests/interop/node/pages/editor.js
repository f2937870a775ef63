// Stock editors on a stock provider, for recordings and for tests against a running server.
// The test calls window.open_editor(options) and then types with the real keyboard.
import * as Y from 'yjs'
import { WebsocketProvider } from 'y-websocket'
import { HocuspocusProvider } from '@hocuspocus/provider'
import { HocuspocusProvider as HocuspocusProvider3 } from 'hocuspocus-provider-3'
import { IndexeddbPersistence } from 'y-indexeddb'
import { Editor } from '@tiptap/core'
import StarterKit from '@tiptap/starter-kit'
import Collaboration from '@tiptap/extension-collaboration'
import CollaborationCaret from '@tiptap/extension-collaboration-caret'
import { TableKit } from '@tiptap/extension-table'
import { EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { basicSetup } from 'codemirror'
import { yCollab, yUndoManagerKeymap } from 'y-codemirror.next'

const openTiptap = (fragment, options) => {
  const editor = new Editor({
    element: document.querySelector('#editor'),
    extensions: [
      StarterKit.configure({ undoRedo: false, trailingNode: false, ...options.starterKit }),
      ...(options.tables ? [TableKit] : []),
      Collaboration.configure({ fragment }),
      CollaborationCaret.configure({ provider: window.provider, user: { name: options.user, color: '#346' } })
    ]
  })
  window.editor = editor
  window.focus_end = () => editor.commands.focus('end')
  window.focus_start = () => editor.commands.focus('start')
  window.put_caret = text => {
    let at = null
    editor.state.doc.descendants((node, pos) => {
      if (at === null && node.isText && node.text.includes(text)) at = pos + node.text.indexOf(text) + text.length
    })
    editor.commands.focus(at)
    return at
  }
  // At once: a selection made by keys is not yet read when another's letter arrives, and is put back.
  window.delete_paragraph = text => {
    editor.state.doc.descendants((node, pos) => {
      if (!node.isTextblock || !node.textContent.includes(text)) return true
      editor.commands.deleteRange({ from: pos, to: pos + node.nodeSize })
      return false
    })
  }
}

const openCodeMirror = (text, options) => {
  const undoManager = new Y.UndoManager(text)
  const view = new EditorView({
    state: EditorState.create({
      doc: text.toString(),
      extensions: [keymap.of(yUndoManagerKeymap), basicSetup, EditorView.lineWrapping,
        yCollab(text, window.provider.awareness, { undoManager })]
    }),
    parent: document.querySelector('#editor')
  })
  window.view = view
  const put = at => { view.focus(); view.dispatch({ selection: { anchor: at } }); return at }
  window.focus_end = () => put(view.state.doc.length)
  window.focus_start = () => put(0)
  window.put_caret = wanted => put(view.state.doc.toString().indexOf(wanted) + wanted.length)
}

// Where the shared type stands: a root of the client's own, or a document's body in Clew's working set.
const findShared = (doc, options) => {
  if (options.editor === 'codemirror') return doc.getText(options.root)
  if (!options.nested) return doc.getXmlFragment(options.root)
  const body = doc.getMap('documents').get(options.nested)?.get('body')
  if (!body) throw new Error(`no document ${options.nested}`)
  return body
}

const connectWebsocket = (doc, options) => {
  const provider = new WebsocketProvider(options.url, options.room, doc, {
    params: options.params ? { ...options.params, cid: String(doc.clientID) } : {},
    protocols: options.protocols ?? [],
    disableBc: options.disableBc ?? false
  })
  provider.on('connection-close', event => event && window.codes.push(event.code))
  return provider
}

const connectHocuspocus = (doc, options) => {
  const Provider = options.hocuspocus === 3 ? HocuspocusProvider3 : HocuspocusProvider
  return new Provider({ url: options.url, name: options.room, document: doc, token: options.token })
}

window.open_editor = async options => {
  const doc = new Y.Doc()
  window.ydoc = doc
  window.statuses = []
  window.codes = []
  if (options.keep) {
    window.idb = new IndexeddbPersistence(options.keep, doc)
    await window.idb.whenSynced
  }
  const provider = options.hocuspocus ? connectHocuspocus(doc, options) : connectWebsocket(doc, options)
  window.provider = provider
  provider.on('status', event => window.statuses.push(event.status))
  const synced = options.hocuspocus ? 'synced' : 'sync'
  if (options.sync !== false) await new Promise(resolve => provider.synced ? resolve() : provider.on(synced, resolve))
  const open = options.editor === 'codemirror' ? openCodeMirror : openTiptap
  open(findShared(doc, options), options)
  return doc.clientID
}

// Clew seeds a task's document once; in a recording without Clew one client does.
window.seed_document = (url, room, params, id) => new Promise(resolve => {
  const doc = new Y.Doc()
  const provider = new WebsocketProvider(url, room, doc, { params: { ...params, cid: String(doc.clientID) }, disableBc: true })
  provider.once('sync', () => {
    doc.transact(() => {
      const document = new Y.Map()
      doc.getMap('documents').set(id, document)
      document.set('title', new Y.Text('Contract'))
      document.set('kind', 'draft')
      document.set('order', 1)
      document.set('body', new Y.XmlFragment())
    })
    setTimeout(() => { provider.destroy(); resolve(doc.clientID) }, 300)
  })
})

const json = type => type instanceof Y.XmlFragment ? type.toString() : type.toJSON()

window.read_roots = names => Object.fromEntries(names.map(([name, kind]) => [name, json(
  kind === 'fragment' ? window.ydoc.getXmlFragment(name) : kind === 'text' ? window.ydoc.getText(name) : window.ydoc.getMap(name))]))
window.read_vector = () => Object.fromEntries(Y.decodeStateVector(Y.encodeStateVector(window.ydoc)))
window.has_pending = () => window.ydoc.store.pendingStructs !== null || window.ydoc.store.pendingDs !== null
window.read_update = () => btoa(String.fromCharCode(...Y.encodeStateAsUpdate(window.ydoc)))
