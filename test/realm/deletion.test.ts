/** Effects of a deletion by the `onDelete` marks, decided without a database. */

import { describe, expect, it } from 'vitest'
import type { OnDelete } from '#schemas/json-schema.ts'
import { defineKind, type Kind } from '#schemas/kind.ts'
import { fields, name, ref, setOf } from '#schemas/marks.ts'
import { settleAllReferences, settleDeletion } from '#server/realm/rules/references.ts'
import { type Draft, Drafts } from '#server/realm/write/drafts.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'

const kindWith = (onDelete: OnDelete): Kind =>
  defineKind({
    kind: 'thing',
    shape: 'collection',
    section: 'things',
    path: '/things',
    pathKey: 'id',
    key: 'name',
    permission: { read: 'manage-realm', write: 'manage-realm' },
    prune: 'allowed',
    doc: 'A thing.',
    spec: fields({ name: name(), others: setOf(ref('thing', { onDelete })) }),
  })

/** Documents by name, each with the names it refers to. */
const draftsOf = (kind: Kind, links: Readonly<Record<string, readonly string[]>>): Drafts => {
  const referrers = new Map<string, StoredDocument[]>()
  for (const [from, targets] of Object.entries(links))
    for (const to of targets)
      referrers.set(to, [...(referrers.get(to) ?? []), { id: from } as StoredDocument])
  const drafts = new Drafts({ revision: 1, documents: new Map(), referrers })
  for (const [key, others] of Object.entries(links)) {
    const draft: Draft = {
      id: key,
      kind,
      before: null,
      key,
      body: { name: key, others },
      secrets: {},
      sealed: {},
      origin: 'manual',
      owner: null,
      protected: false,
      named: false,
      stated: false,
      seed: false,
      at: undefined,
    }
    drafts.add(draft)
  }
  return drafts
}

const remove = (drafts: Drafts, key: string): void => {
  const draft = drafts.find('thing', key)
  if (!draft) throw new Error(`no ${key}`)
  settleDeletion(drafts, draft)
  settleAllReferences(drafts)
}

const left = (drafts: Drafts) =>
  Object.fromEntries(drafts.all().flatMap(({ key, body }) => (body ? [[key, body['others']]] : [])))

describe('a deletion', () => {
  it('takes along whoever refers to it by a cascading reference, and theirs in turn', () => {
    const drafts = draftsOf(kindWith('cascade'), { a: [], b: ['a'], c: ['b'], d: [] })
    remove(drafts, 'a')
    expect(left(drafts)).toEqual({ d: [] })
  })

  it('comes to an end where references go in a circle', () => {
    const drafts = draftsOf(kindWith('cascade'), { a: ['c'], b: ['a'], c: ['b'] })
    remove(drafts, 'b')
    expect(left(drafts)).toEqual({})
  })

  it('is refused as a whole while one holds on, and nothing is changed', () => {
    const drafts = draftsOf(kindWith('refuse'), { a: [], b: ['a'], c: ['a'] })
    expect(() => remove(drafts, 'a')).toThrow(/"a" is used by \S+ "b", \S+ "c"$/)
    expect(left(drafts)).toEqual({ a: [], b: ['a'], c: ['a'] })
  })

  it('names three of those who hold on, and counts the others', () => {
    const holders = Object.fromEntries(['f', 'e', 'd', 'c', 'b'].map((key) => [key, ['a']]))
    const drafts = draftsOf(kindWith('refuse'), { a: [], ...holders })
    expect(() => remove(drafts, 'a')).toThrow(/ used by \S+ "b", \S+ "c", \S+ "d" and 2 more$/)
  })

  it('is not held by the document itself', () => {
    const drafts = draftsOf(kindWith('refuse'), { a: ['a'] })
    remove(drafts, 'a')
    expect(left(drafts)).toEqual({})
  })

  it('takes the reference out of those who let go, and leaves their others', () => {
    const drafts = draftsOf(kindWith('detach'), { a: [], b: ['a', 'c'], c: [] })
    remove(drafts, 'a')
    expect(left(drafts)).toEqual({ b: ['c'], c: [] })
  })
})
