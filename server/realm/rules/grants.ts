/**
 * A caller can grant only permissions that the caller holds, and cannot change documents that hold more: a client secret
 * gives access, and a role is granted by its name. Permissions are on roles and propagate along references marked `grants`
 * (composites, roles of a group, groups of a user …) and down a tree, so one walk over the marks finds every path. References
 * are resolved under the keys before the write: one list of operations may swap names, and a renamed role grants nothing
 * new to its holders.
 */

import { isDeepStrictEqual } from 'node:util'
import { isPlanOnly } from '#schemas/access/admin-access.ts'
import { effectivePermissions, type Permission } from '#schemas/access/permissions.ts'
import { createClosure } from '#schemas/graph/closure.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { parentKeyOf } from '#schemas/kind.ts'
import { Problem } from '#schemas/problems.ts'
import { type Reference, referencesOf } from '#schemas/walk.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Draft, Drafts } from '../write/drafts.ts'
import { placeOf } from '../write/operations.ts'

/** The realm before or after the operations. */
interface Realm {
  readonly keyOf: (draft: Draft) => string | undefined
  readonly bodyOf: (draft: Draft) => Doc | null | undefined
  readonly find: (kind: string, key: string) => Draft | undefined
}

interface State extends Realm {
  /** The documents whose permissions this one has by its references and by its place. */
  readonly giversOf: (draft: Draft) => readonly Draft[]
  /** What holding, or being in, this document amounts to. */
  readonly permissionsOf: (draft: Draft) => ReadonlySet<Permission>
}

const after = (drafts: Drafts): State =>
  stateOf({
    keyOf: ({ key }) => key,
    bodyOf: ({ body }) => body,
    find: (kind, key) => drafts.find(kind, key),
  })

const before = (drafts: Drafts): State => {
  const place = (kind: string, key: string): string => `${kind}\n${key}`
  const known = new Map(
    drafts
      .all()
      .flatMap((draft) =>
        draft.before ? [[place(draft.kind.kind, draft.before.key), draft]] : [],
      ),
  )
  return stateOf({
    keyOf: (draft) => draft.before?.key,
    bodyOf: (draft) => draft.before?.body,
    find: (kind, key) => known.get(place(kind, key)),
  })
}

const permissionsIn = (body: Doc | null | undefined): Permission[] =>
  (body?.['permissions'] as Permission[] | undefined) ?? []

const parentIn = ({ keyOf, find }: Realm, draft: Draft): Draft | undefined => {
  const key = draft.kind.shape === 'tree' ? keyOf(draft) : undefined
  const above = key === undefined ? null : parentKeyOf(draft.kind, key)
  return above === null ? undefined : find(draft.kind.kind, above)
}

const giversIn = (realm: Realm, draft: Draft): readonly Draft[] => {
  const body = realm.bodyOf(draft)
  if (!body) return []
  const named = referencesOf(draft.kind, body, realm.keyOf(draft) ?? '').flatMap(
    ({ grants, kind, key }) => (grants ? (realm.find(kind, key) ?? []) : []),
  )
  return [...named, parentIn(realm, draft) ?? []].flat()
}

/** Permissions are found once for each document of a change: thousands may lead to the same roles. */
const stateOf = (realm: Realm): State => {
  const givers = new Map<Draft, readonly Draft[]>()
  const giversOf = (draft: Draft): readonly Draft[] => {
    const found = givers.get(draft) ?? giversIn(realm, draft)
    givers.set(draft, found)
    return found
  }
  const closure = createClosure<Draft, Permission>({
    own: (draft) => permissionsIn(realm.bodyOf(draft)),
    next: giversOf,
  })
  return { ...realm, giversOf, permissionsOf: (draft) => effectivePermissions(closure(draft)) }
}

/** Of a client that may only plan, none of its roles is a power to change anything. */
const powersOf = (state: State, draft: Draft): ReadonlySet<Permission> =>
  isPlanOnly(state.bodyOf(draft)) ? new Set() : state.permissionsOf(draft)

/** The rise of privilege that a change of the document is: what it holds afterwards, and did not hold before. */
export const gainsOf = (drafts: Drafts): ((draft: Draft) => readonly Permission[]) => {
  const then = before(drafts)
  const now = after(drafts)
  return (draft) => {
    if (draft.body === null) return []
    const had = powersOf(then, draft)
    const gained = [...powersOf(now, draft)].filter((permission) => !had.has(permission))
    return gained.includes('realm-admin') ? ['realm-admin'] : gained.sort()
  }
}

/** The references with `needs`, by the document that each names or, where that was not read, by its key. */
const guardedIn = (
  { keyOf, bodyOf, find }: Realm,
  draft: Draft,
): ReadonlyMap<Draft | string, Reference> =>
  new Map(
    referencesOf(draft.kind, bodyOf(draft) ?? {}, keyOf(draft) ?? '').flatMap((reference) =>
      reference.needs
        ? [
            [
              find(reference.kind, reference.key) ?? placeOf(reference.kind, reference.key),
              reference,
            ],
          ]
        : [],
    ),
  )

/** A document that goes takes the references to it along: its own permission was asked for. */
const isThere = (target: Draft | string): boolean =>
  typeof target === 'string' || target.body !== null

/** The permission of the document does not include adding, or removing, references that are marked so. */
const refuseGuarded = (
  draft: Draft,
  then: Realm,
  now: Realm,
  { permissions, scoped }: Caller,
): void => {
  const had = guardedIn(then, draft)
  const has = guardedIn(now, draft)
  const refuse = (word: 'adding' | 'removing', { needs, kind, key }: Reference): void => {
    if (needs && !permissions.has(needs) && !scoped?.has(needs))
      throw new Problem(
        'forbidden',
        `${draft.kind.kind} "${draft.key}": ${word} ${kind} "${key}" also needs the permission ${needs}`,
      )
  }
  for (const [target, reference] of has) if (!had.has(target)) refuse('adding', reference)
  for (const [target, reference] of had)
    if (draft.named && reference.needsToRemove && !has.has(target) && isThere(target))
      refuse('removing', reference)
}

const firstMissing = (
  needed: ReadonlySet<Permission>,
  { permissions }: Caller,
): Permission | undefined => [...needed].find((permission) => !permissions.has(permission))

/** Settings only refer to a role; any other document with permissions needs a caller who holds them. */
const refuseHolding = (draft: Draft, then: State, caller: Caller): void => {
  if (!draft.before || draft.kind.shape === 'singleton') return
  const held = firstMissing(then.permissionsOf(draft), caller)
  if (held)
    throw new Problem(
      'forbidden',
      `${draft.kind.kind} "${draft.key}" holds ${held}, which you do not`,
    )
}

/** The same rule for documents that stay as they are. */
export const refuseStronger = (drafts: Drafts, asked: readonly Draft[], caller: Caller): void => {
  if (asked.length === 0 || caller.permissions.has('realm-admin')) return
  const then = before(drafts)
  for (const draft of asked) refuseHolding(draft, then, caller)
}

export const refuseEscalation = (
  drafts: Drafts,
  changed: readonly Draft[],
  caller: Caller,
): void => {
  if (caller.permissions.has('realm-admin')) return
  const then = before(drafts)
  const now = after(drafts)
  for (const draft of changed) {
    const name = `${draft.kind.kind} "${draft.key}"`
    if (draft.named) refuseHolding(draft, then, caller)
    if (draft.body === null) continue
    if (!isDeepStrictEqual(permissionsIn(draft.before?.body), permissionsIn(draft.body)))
      throw new Problem('forbidden', 'only realm-admin may change the permissions of a role')
    const had = new Set(then.giversOf(draft))
    const added = now.giversOf(draft).filter((giver) => !had.has(giver))
    refuseGuarded(draft, then, now, caller)
    const given = new Set(added.flatMap((giver) => [...now.permissionsOf(giver)]))
    const missing = firstMissing(given, caller)
    if (missing)
      throw new Problem('forbidden', `${name} would grant ${missing}, which you do not hold`)
  }
}
