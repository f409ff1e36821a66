/**
 * The blast radius of a change: sessions that end, users who lose access, members who lose a membership, documents that
 * are deleted or changed along, permissions that it grants (a rise of privilege), and fields of users whom no file
 * declared.
 */

import type { Kysely } from 'kysely'
import { itemsWithout } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import { Settings } from '#schemas/kinds/settings.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { complete } from '#schemas/normalize.ts'
import type { Impact } from '#schemas/wire/wire.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import type { Draft, Drafts } from '../write/drafts.ts'
import { type Effect, keyOf } from '../write/effects.ts'
import { gainsOf } from './grants.ts'
import { type Counts, countsOf, idsOf } from './impact-counts.ts'
import { replacedFields } from './replaced-users.ts'

const listed = (value: Doc, field: string): readonly unknown[] => {
  const list = value[field]
  return Array.isArray(list) ? list : []
}

/** Whether a list is shorter than before: of roles in a group, of permissions in a role. */
const loses = (before: Doc, after: Doc): boolean =>
  ['roles', 'composites', 'permissions'].some(
    (field) => itemsWithout(listed(before, field), listed(after, field)).length > 0,
  )

type Severity = 'gone' | 'disabled' | 'narrowed'

/** Disabled; and an identity provider that no sign-in can use: a hidden one is reached through its organization alone. */
const isShut = ({ enabled, linkOnly, hideOnLogin, organization }: Doc): boolean =>
  enabled === false || linkOnly === true || (hideOnLogin === true && organization === undefined)

const severityOf = ({ draft, before, after }: Effect): Severity | undefined => {
  // A released user stays, no longer declared.
  if (!before || !draft.named || draft.release) return undefined
  if (!after) return 'gone'
  const [then, now] = [complete(draft.kind, before.body), complete(draft.kind, after.body)]
  if (!isShut(then) && isShut(now)) return 'disabled'
  return loses(then, now) ? 'narrowed' : undefined
}

const isRealmSwitch = ({ draft }: Effect, severity: Severity | undefined): boolean =>
  draft.kind === Settings && severity === 'disabled'

/** Only of documents that reach something. */
export const impactsOf = async (
  effects: readonly Effect[],
  drafts: Drafts,
  { db, realm, now }: { readonly db: Kysely<Tables>; readonly realm: string; readonly now: number },
): Promise<readonly Impact[]> => {
  const gainsIn = gainsOf(drafts)
  const replaced = await replacedFields(effects, { db, realm })
  const hits = effects.flatMap((effect) => {
    const severity = severityOf(effect)
    const { draft } = effect
    const gains = draft.named && !draft.seed ? gainsIn(draft) : []
    const replaces = replaced.get(draft.id) ?? []
    if (!severity && gains.length + replaces.length === 0) return []
    // Documents that the changeset names are reported under their own name.
    const along = [...drafts.along(effect.draft)].filter(({ named }) => !named)
    const gone = along.filter(({ body }) => body === null)
    return [{ effect, severity, gains, replaces, along, touched: [effect.draft, ...gone] }]
  })
  const counting = await countsOf(
    hits.flatMap(({ touched }) => touched),
    {
      db,
      realm,
      now,
      wholeRealm: hits.some(({ effect, severity }) => isRealmSwitch(effect, severity)),
    },
  )
  const sum = (counts: Counts, touched: readonly Draft[]): number =>
    touched.reduce((total, { id }) => total + (counts.get(id) ?? 0), 0)
  return hits
    .map(({ effect, severity, gains, replaces, along, touched }) => {
      const whole = isRealmSwitch(effect, severity) ? counting.realm : { users: 0, sessions: 0 }
      const shutOut = severity === undefined || severity === 'narrowed' ? [] : touched
      return {
        kind: effect.draft.kind.kind,
        key: keyOf(effect),
        sessions: whole.sessions + sum(counting.sessions, shutOut),
        users: whole.users + idsOf(shutOut, User).length + sum(counting.lockedOut, shutOut),
        members: sum(counting.members, touched),
        documents: along.length,
        ...(gains.length > 0 ? { gains } : {}),
        ...(replaces.length > 0 ? { replaces } : {}),
      }
    })
    .filter(
      ({ sessions, users, members, documents, gains, replaces }) =>
        gains !== undefined || replaces !== undefined || sessions + users + members + documents > 0,
    )
}
