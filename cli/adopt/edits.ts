/** One difference -> operations on the text of the files. */

import { isDeepStrictEqual } from 'node:util'
import type { Doc, JsonSchema } from '#schemas/json-schema.ts'
import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { isStored } from '#schemas/normalize.ts'
import { sectionKinds } from '#schemas/realm/realm-document.ts'
import { seedOf } from '#schemas/realm/seeds.ts'
import { childrenOf } from '#schemas/registry.ts'
import type { ActualDocument } from '../planning/actual.ts'
import { nameOf, placeKey } from '../planning/names.ts'
import type { Difference } from './differences.ts'
import { editField } from './fields.ts'
import type { Located } from './locate.ts'
import { type Editor, Refused } from './operations.ts'
import { type Cursor, childOf, placeOf as placeOfCursor } from './text/cursor.ts'
import type { Item } from './text/print.ts'

const orderOf = (kind: Kind): string[] => [
  ...new Set([
    ...kind.keyFields,
    'renamedFrom',
    ...Object.keys(kind.spec.properties ?? {}),
    'protected',
    ...childrenOf(kind).map(({ section }) => section),
  ]),
]

const fieldsOf = (kind: Kind): [string, JsonSchema][] =>
  Object.entries(kind.spec.properties ?? {}).filter(
    ([name, schema]) => isStored(schema) && !kind.keyFields.includes(name),
  )

const editChanged = (
  editor: Editor,
  { desired, document }: Extract<Difference, { type: 'changed' }>,
  maps: readonly Cursor[],
  attempt: (field: string, act: () => void) => void,
): void => {
  const { kind, body } = desired
  const seed = seedOf(kind, desired.renamedFrom ?? desired.key)?.doc ?? {}
  const order = orderOf(kind)
  for (const [name, schema] of fieldsOf(kind)) {
    const [live, file] = [document.body[name], body[name]]
    if (isDeepStrictEqual(live, file)) continue
    attempt(name, () =>
      editField(editor, { schema, maps, name, live, file, seed: seed[name], order }),
    )
  }
  if (document.protected === desired.protected) return
  const live = document.protected || undefined
  attempt('protected', () =>
    editField(editor, {
      schema: { type: 'boolean', default: false },
      maps,
      name: 'protected',
      live,
      file: !live,
      order,
    }),
  )
}

/** A document as an entry says it: of what every realm has, only what differs from how it was born. */
const entryOf = ({ kind, key, body, protected: isProtected }: ActualDocument): Doc => {
  const seed = seedOf(kind, key)?.doc
  const guard = isProtected ? { protected: true } : {}
  if (!seed) return { ...body, ...guard }
  const entry: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(kind.spec.properties ?? {})) {
    const value = body[name]
    if (!isStored(schema)) continue
    if (kind.keyFields.includes(name)) entry[name] = value ?? seed[name]
    else if (!isDeepStrictEqual(value, seed[name]))
      entry[name] = value ?? ('default' in schema ? schema.default : null)
  }
  return { ...entry, ...guard }
}

const noteOf = ({ storedSecrets }: ActualDocument): string | undefined =>
  storedSecrets.length === 0
    ? undefined
    : `Set on the server, unchanged unless given here: ${storedSecrets
        .map((pointer) => pointer.slice(1).replaceAll('/', '.'))
        .join(', ')}`

const itemOf = (document: ActualDocument): Item => ({
  value: entryOf(document),
  note: noteOf(document),
})

/** The map in which a list for the document would stand: its parent's entry, or a document of the realm. */
const homeOf = (
  { roots, entries }: Located,
  { kind, key }: ActualDocument,
): { readonly at: Cursor; readonly order: readonly string[] } => {
  const parentKey = parentKeyOf(kind, key)
  if (parentKey === null) {
    const [at] = roots
    if (!at) throw new Refused('no file is about this realm', null)
    return { at, order: ['realm', ...sectionKinds.map(({ section }) => section)] }
  }
  const parent = kind.parentKind ?? ''
  const [at] = entries.get(placeKey(parent, parentKey)) ?? []
  if (at) return { at, order: [] }
  const name = nameOf(parent, parentKey)
  throw new Refused(`it is part of ${name}, which the files do not have; name that too`, null)
}

/** New documents of the same list. */
const addLive = (editor: Editor, located: Located, documents: readonly ActualDocument[]): void => {
  const [first] = documents
  if (!first) return
  const { kind, key } = first
  const items = documents.map(itemOf)
  const lists = located.lists.get(placeKey(kind.kind, parentKeyOf(kind, key) ?? '')) ?? []
  const list = lists.findLast(({ layer }) => layer === lists[0]?.layer)
  if (list) {
    const index = list.says.type === 'list' ? list.says.items.length : 0
    for (const item of items) editor.insertItem(list, item, index)
    return
  }
  const { at, order } = homeOf(located, first)
  if (kind.shape === 'singleton') editor.insertPair(at, kind.section, entryOf(first), order)
  else editor.insertPair(at, kind.section, null, order, items)
}

const placeOf = ({ kind, key }: Pick<ActualDocument, 'kind' | 'key'>): string =>
  placeKey(kind.kind, key)

const listOf = ({ kind, key }: ActualDocument): string =>
  placeKey(kind.kind, parentKeyOf(kind, key) ?? '')

const parentOf = ({ kind, key }: ActualDocument): string =>
  placeKey(kind.parentKind ?? '', parentKeyOf(kind, key) ?? '')

const removeGone = (
  editor: Editor,
  { desired, isRenamed }: Extract<Difference, { type: 'gone' }>,
  entries: readonly Cursor[],
): void => {
  if (isRenamed)
    throw new Refused(
      `the files rename it from ${JSON.stringify(desired.renamedFrom)}; apply that, or take \`renamedFrom\` back`,
      entries[0] ? placeOfCursor(childOf(entries[0], 'renamedFrom') ?? entries[0]) : null,
    )
  for (const entry of entries) editor.remove(entry, true)
}

/** Runs a part of an edit on behalf of differences; what it refuses concerns this field of theirs alone. */
export type Attempt = (on: readonly Difference[], field: string | null, act: () => void) => void

export const editAll = (
  editor: Editor,
  located: Located,
  differences: readonly Difference[],
  attempt: Attempt,
): void => {
  const { entries, removals } = located
  const fresh: Extract<Difference, { type: 'live' }>[] = []
  for (const one of differences) {
    if (one.type === 'changed') {
      const maps = entries.get(placeOf(one.desired)) ?? []
      editChanged(editor, one, maps, (field, act) => attempt([one], field, act))
    } else if (one.type === 'gone') {
      const found = entries.get(placeOf(one.desired)) ?? []
      attempt([one], null, () => removeGone(editor, one, found))
    } else {
      const removal = removals.get(placeOf(one.document))
      if (removal) attempt([one], null, () => editor.remove(removal, true))
      else fresh.push(one)
    }
  }
  // What is below another one follows when that is there.
  const coming = new Set(fresh.map(({ document }) => placeOf(document)))
  const ready = fresh.filter(({ document }) => !coming.has(parentOf(document)))
  for (const group of Map.groupBy(ready, ({ document }) => listOf(document)).values())
    attempt(group, null, () =>
      addLive(
        editor,
        located,
        group.map(({ document }) => document),
      ),
    )
}
