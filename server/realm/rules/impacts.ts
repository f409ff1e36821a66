/**
 * The blast radius of a change: sessions that end, users who lose access, members who lose a membership, documents that
 * are deleted or changed along, permissions that it grants (a rise of privilege), and fields of users whom no file declared. Counted for all documents of a
 * kind by one query.
 */

import { type Kysely, sql } from 'kysely'
import { itemsWithout } from '#schemas/diff.ts'
import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import { Settings } from '#schemas/kinds/settings.ts'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Organization } from '#schemas/kinds/users/organization.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { complete } from '#schemas/normalize.ts'
import type { Impact } from '#schemas/wire/wire.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import type { Draft, Drafts } from '../write/drafts.ts'
import { type Effect, keyOf } from '../write/effects.ts'
import { gainsOf } from './grants.ts'
import { replacedFields } from './replaced-users.ts'

type Counts = ReadonlyMap<string, number>

interface Counting {
  /** Rows of live sessions of a user, or of a client. */
  readonly sessions: Counts
  /** Rows by role, group, organization or identity provider. */
  readonly members: Counts
  /** Users of an identity provider who have no other way in. */
  readonly lockedOut: Counts
  /** Of the whole realm, where it is switched off. */
  readonly realm: { readonly users: number; readonly sessions: number }
}

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

const idsOf = (drafts: Iterable<Draft>, ...kinds: readonly Kind[]): string[] =>
  [...drafts].flatMap(({ kind, id }) => (kinds.includes(kind) ? [id] : []))

const countBy = async (
  ids: readonly string[],
  query: (part: readonly string[]) => Promise<{ id: string; count: number }[]>,
): Promise<[string, number][]> =>
  (await readInSlices(ids, query)).map(({ id, count }) => [id, Number(count)])

const count = async (
  db: Kysely<Tables>,
  realm: string,
  now: number,
  touched: readonly Draft[],
  wholeRealm: boolean,
): Promise<Counting> => {
  const sessions = await Promise.all([
    countBy(idsOf(touched, User), (part) =>
      db
        .selectFrom('sessions')
        .select(['user_id as id', (eb) => eb.fn.countAll<number>().as('count')])
        .where('user_id', 'in', part)
        .where('expires_at', '>', now)
        .groupBy('user_id')
        .execute(),
    ),
    countBy(idsOf(touched, Client, SamlClient), (part) =>
      db
        .selectFrom('session_clients')
        .select(['client_id as id', (eb) => eb.fn.countAll<number>().as('count')])
        .where('client_id', 'in', part)
        .groupBy('client_id')
        .execute(),
    ),
  ])
  const members = await Promise.all([
    countBy(idsOf(touched, Role, ClientRole), (part) =>
      db
        .selectFrom('user_roles')
        .select(['role_id as id', (eb) => eb.fn.countAll<number>().as('count')])
        .where('role_id', 'in', part)
        .groupBy('role_id')
        .execute(),
    ),
    countBy(idsOf(touched, Group), (part) =>
      db
        .selectFrom('user_groups')
        .select(['group_id as id', (eb) => eb.fn.countAll<number>().as('count')])
        .where('group_id', 'in', part)
        .groupBy('group_id')
        .execute(),
    ),
    countBy(idsOf(touched, Organization), (part) =>
      db
        .selectFrom('organization_members')
        .select(['organization_id as id', (eb) => eb.fn.countAll<number>().as('count')])
        .where('organization_id', 'in', part)
        .groupBy('organization_id')
        .execute(),
    ),
    countBy(idsOf(touched, IdentityProvider), (part) =>
      db
        .selectFrom('federated_links')
        .select(['provider as id', (eb) => eb.fn.countAll<number>().as('count')])
        .where('provider', 'in', part)
        .groupBy('provider')
        .execute(),
    ),
  ])
  const lockedOut = await countBy(idsOf(touched, IdentityProvider), (part) =>
    db
      .selectFrom('federated_links')
      .select(['provider as id', (eb) => eb.fn.countAll<number>().as('count')])
      .where('provider', 'in', part)
      .where(
        sql<boolean>`not exists (select 1 from credentials
          where credentials.user_id = federated_links.user_id
          and credentials.type in ('password', 'webauthn'))`,
      )
      .where(
        sql<boolean>`not exists (select 1 from federated_links as other
          where other.user_id = federated_links.user_id and other.provider not in (${sql.join(part)}))`,
      )
      .groupBy('provider')
      .execute(),
  )
  const all = async (table: 'users' | 'sessions'): Promise<number> => {
    if (!wholeRealm) return 0
    const row = await db
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('realm', '=', realm)
      .executeTakeFirst()
    return Number(row?.count ?? 0)
  }
  return {
    sessions: new Map(sessions.flat()),
    members: new Map(members.flat()),
    lockedOut: new Map(lockedOut),
    realm: { users: await all('users'), sessions: await all('sessions') },
  }
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
  const counting = await count(
    db,
    realm,
    now,
    hits.flatMap(({ touched }) => touched),
    hits.some(({ effect, severity }) => isRealmSwitch(effect, severity)),
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
