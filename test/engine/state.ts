/** Everything that a realm is, read from the tables, and what must be true of it once another realm was applied. */

import { expect } from 'vitest'
import { placeKey } from '#cli/planning/names.ts'
import type { Prune } from '#cli/planning/plan.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { kindNamed } from '#schemas/registry.ts'
import { referencesOf, replaceReferences } from '#schemas/walk.ts'
import { documentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import type { TestServer } from '../support/server.ts'
import { isListed, listsOf } from './pairs.ts'
import { bodyOf, placeOf, placesOf, type Sketch } from './sketch.ts'
import type { Item } from './values.ts'

export const source = 'estate'

export interface Stored extends StoredDocument {
  readonly place: string
}

export interface State {
  readonly realm: string
  readonly revision: number
  /** By id. */
  readonly documents: ReadonlyMap<string, Stored>
  readonly byPlace: ReadonlyMap<string, Stored>
  readonly users: ReadonlyMap<string, UserRow>
  readonly credentials: readonly CredentialRow[]
  /** Memberships: ids of a user and a document. */
  readonly memberships: readonly string[]
  readonly keys: readonly string[]
}

export const nothing: State = {
  realm: '',
  revision: 0,
  documents: new Map(),
  byPlace: new Map(),
  users: new Map(),
  credentials: [],
  memberships: [],
  keys: [],
}

export const stateOf = async (
  { areas: { storage } }: TestServer,
  realm: string,
): Promise<State> => {
  const { db } = storage
  const [rows, users, credentials, keys, allRoles, allGroups, allMembers] = await Promise.all([
    db.selectFrom('documents').selectAll().where('realm', '=', realm).orderBy('id').execute(),
    db.selectFrom('users').selectAll().where('realm', '=', realm).orderBy('id').execute(),
    db.selectFrom('credentials').selectAll().where('realm', '=', realm).orderBy('id').execute(),
    db.selectFrom('signing_keys').selectAll().where('realm', '=', realm).orderBy('id').execute(),
    db.selectFrom('user_roles').selectAll().execute(),
    db.selectFrom('user_groups').selectAll().execute(),
    db.selectFrom('organization_members').selectAll().execute(),
  ])
  const documents = rows.map(documentOf).map((one): Stored => ({ ...one, place: placeOf(one) }))
  const ids = new Set(users.map(({ id }) => id))
  const own = <T extends { readonly user_id: string }>(list: readonly T[]): T[] =>
    list.filter(({ user_id }) => ids.has(user_id))
  const row = await db.selectFrom('realms').selectAll().where('name', '=', realm).executeTakeFirst()
  return {
    realm,
    revision: row?.revision ?? 0,
    documents: new Map(documents.map((document) => [document.id, document])),
    byPlace: new Map(documents.map((document) => [document.place, document])),
    users: new Map(users.map((user) => [user.id, user])),
    credentials,
    memberships: [
      ...own(allRoles).map(({ user_id, role_id }) => `${user_id} ${role_id}`),
      ...own(allGroups).map(({ user_id, group_id }) => `${user_id} ${group_id}`),
      ...own(allMembers).map(({ user_id, organization_id }) => `${user_id} ${organization_id}`),
    ].sort(),
    keys: keys.map((key) => JSON.stringify(key)),
  }
}

/** What a document says without the names in it, and the documents that those names mean. */
const meaning = (state: State, { kind: name, key, body }: Stored) => {
  const kind = kindNamed(name)
  let rest: Doc = body
  const means = referencesOf(kind, body, key).map((reference) => {
    rest = replaceReferences(kind, rest, [{ kind: reference.kind, from: reference.key, to: null }])
    const target = state.byPlace.get(placeKey(reference.kind, reference.key))
    return `${reference.field} ${target?.id ?? reference.key}`
  })
  return { said: compact(kind, rest), means: means.sort() }
}

/**
 * The document that an entry was. A rename is carried out where the new name is free or becomes free in turn; one that was done
 * before has the new name, and the old one is free or, in a chain, has gone on.
 */
const formerDocuments = (before: State, files: Sketch): ((item: Item) => Stored | undefined) => {
  const entries = new Map(files.items.map((item) => [placeOf(item), item]))
  /** Below a parent that has another name now, the key that it had. */
  const at = (name: string, key: string): Stored | undefined => {
    const kind = kindNamed(name)
    const above = kind.shape === 'child' ? parentKeyOf(kind, key) : null
    const entry = above === null ? undefined : entries.get(placeKey(kind.parentKind ?? '', above))
    if (above === null || entry === undefined) return before.byPlace.get(placeKey(name, key))
    const parent = was(entry)
    return parent && before.byPlace.get(placeKey(name, parent.key + key.slice(above.length)))
  }
  const renamed = files.items.filter(({ from }) => from !== undefined)
  const byPlace = new Map(renamed.map((item) => [placeOf(item), item]))
  const bySource = new Map(renamed.map((item) => [placeKey(item.kind, item.from ?? ''), item]))
  const isDone = ({ kind, key, from = '' }: Item): boolean => {
    const above = byPlace.get(placeKey(kind, from))
    const isFree = at(kind, from) === undefined || (above !== undefined && isDone(above))
    return at(kind, key) !== undefined && isFree
  }
  const was = (item: Item): Stored | undefined => {
    const { kind, key, from } = item
    const own = at(kind, key)
    if (from === undefined || isDone(item)) return own
    const next = bySource.get(placeOf(item))
    if (own && (next === undefined || was(next) !== own)) return own
    const above = byPlace.get(placeKey(kind, from))
    return above !== undefined && isDone(above) ? undefined : at(kind, from)
  }
  return was
}

/** Every entry of the files is there as they say, and is the document that it was. */
export const expectWanted = (before: State, after: State, files: Sketch): void => {
  const was = formerDocuments(before, files)
  for (const item of files.items) {
    const found = after.byPlace.get(placeOf(item))
    const wanted = {
      id: was(item)?.id ?? found?.id,
      body: bodyOf(item),
      owner: source,
      protected: item.protected,
    }
    const { id, body, owner, protected: isProtected } = found ?? {}
    expect({ id, body, owner, protected: isProtected }, placeOf(item)).toEqual(wanted)
  }
}

const isPrunable = ({ kind: name, origin }: Stored): boolean => {
  const kind = kindNamed(name)
  return (
    kind.prune === 'allowed' &&
    kind.shape !== 'singleton' &&
    origin !== 'built-in' &&
    origin !== 'runtime'
  )
}

/** The key that it has below its parent as that is called now. */
const keyBelow = ({ key }: Stored, parent: Stored | undefined): string =>
  parent ? `${parent.key}${key.slice(key.lastIndexOf('/'))}` : key

/** As they were, but for those that are a hash now. */
export const hashedSince = (was: Stored['secrets'], is: Stored['secrets']): Stored['secrets'] =>
  Object.fromEntries(
    Object.entries(was).map(([pointer, secret]) => {
      const now = is[pointer]
      return [pointer, now && 'hmac' in now && !('hmac' in secret) ? now : secret]
    }),
  )

/** What the files do not name: gone if it is to be pruned, or cannot be without what goes; else exactly as it was. */
export const expectOthers = (before: State, after: State, files: Sketch, prune: Prune): void => {
  const named = placesOf(files.items)
  const lists = listsOf(files)
  const isGone = (one: Stored | undefined): boolean =>
    one !== undefined && !after.documents.has(one.id)
  const goesAlong = (one: Stored): boolean =>
    isGone(before.documents.get(one.parentId ?? '')) ||
    referencesOf(kindNamed(one.kind), one.body, one.key).some(
      ({ kind, key, onDelete }) =>
        onDelete === 'cascade' && isGone(before.byPlace.get(placeKey(kind, key))),
    )
  const isDoomed = (one: Stored): boolean =>
    (prune === 'all' || (prune === 'owned' && one.owner === source)) &&
    isPrunable(one) &&
    isListed(lists, {
      kind: one.kind,
      key: keyBelow(one, after.documents.get(one.parentId ?? '')),
    })
  for (const one of before.documents.values()) {
    const now = after.documents.get(one.id)
    if (now && named.has(now.place)) continue
    if (!now) {
      expect({ place: one.place, mayGo: isDoomed(one) || goesAlong(one) }).toMatchObject({
        mayGo: true,
      })
      continue
    }
    expect({ place: one.place, isDoomed: isDoomed(one) }).toMatchObject({ isDoomed: false })
    const { origin, owner, protected: isProtected, secrets } = one
    expect(now).toMatchObject({ origin, owner, protected: isProtected })
    // A realm that goes back to hashes keeps no secret that it could reveal.
    expect(now.secrets).toEqual(hashedSince(secrets, now.secrets))
    const [was, is] = [meaning(before, one), meaning(after, now)]
    expect(is.said, one.place).toEqual(was.said)
    const left = was.means.filter((line) => after.documents.has(line.split(' ')[1] ?? ''))
    expect(is.means, one.place).toEqual(left)
  }
  for (const one of after.documents.values())
    if (!before.documents.has(one.id)) expect(named).toContain(one.place)
}

/** Users that no file names, and data that only users and the server itself may change. */
export const expectData = (
  before: State,
  after: State,
  /** Ids of users whose password the files set. */
  given: ReadonlySet<string>,
): void => {
  expect(after.keys).toEqual(before.keys)
  const strangers = [...before.users.values()].filter(
    ({ managed, id }) => managed === 0 && after.users.get(id)?.managed !== 1,
  )
  for (const user of strangers) expect(after.users.get(user.id)).toEqual(user)
  const ids = new Set(strangers.map(({ id }) => id))
  const theirs = (list: readonly string[]): string[] =>
    list.filter((line) => ids.has(line.split(' ')[0] ?? ''))
  expect(theirs(after.memberships)).toEqual(
    theirs(before.memberships).filter((line) => after.documents.has(line.split(' ')[1] ?? '')),
  )
  const isKept = ({ user_id }: CredentialRow): boolean =>
    before.users.has(user_id) && after.users.has(user_id) && !given.has(user_id)
  expect(after.credentials.filter(isKept)).toEqual(before.credentials.filter(isKept))
}

/** The configuration of a realm, without what lived at run time before it was named. */
export const configurationOf = ({ documents }: State, before: State) =>
  [...documents.values()]
    .filter(({ id }) => before.documents.get(id)?.origin !== 'runtime')
    .map(({ id, place, body, owner, protected: isProtected, origin }) => ({
      place,
      // One that was deleted by hand and made again by the files stays the new one.
      id: before.documents.has(id) ? id : 'another',
      body,
      owner,
      protected: isProtected,
      origin,
    }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
