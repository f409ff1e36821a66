/** The rows behind the blast radius of a change: one query for all documents of a kind. */

import { type Kysely, sql } from 'kysely'
import type { Kind } from '#schemas/kind.ts'
import { Client } from '#schemas/kinds/clients/client.ts'
import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Organization } from '#schemas/kinds/users/organization.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { readInSlices } from '#server/storage/documents/reads.ts'
import type { Tables } from '#server/storage/tables/tables.ts'
import type { Draft } from '../write/drafts.ts'

type Db = Kysely<Tables>
type Ids = readonly string[]
type Row = { id: string; count: number }

/** By the id of a document. */
export type Counts = ReadonlyMap<string, number>

export interface ImpactCounts {
  /** Rows of live sessions of a user, or of a client. */
  readonly sessions: Counts
  /** Rows by role, group, organization or identity provider. */
  readonly members: Counts
  /** Users of an identity provider who have no other way in. */
  readonly lockedOut: Counts
  /** Of the whole realm, where it is switched off. */
  readonly realm: { readonly users: number; readonly sessions: number }
}

const sessionsOfUsers = (db: Db, ids: Ids, now: number): Promise<Row[]> =>
  db
    .selectFrom('sessions')
    .select(['user_id as id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('user_id', 'in', ids)
    .where('expires_at', '>', now)
    .groupBy('user_id')
    .execute()

const sessionsOfClients = (db: Db, ids: Ids): Promise<Row[]> =>
  db
    .selectFrom('session_clients')
    .select(['client_id as id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('client_id', 'in', ids)
    .groupBy('client_id')
    .execute()

const holdersOfRoles = (db: Db, ids: Ids): Promise<Row[]> =>
  db
    .selectFrom('user_roles')
    .select(['role_id as id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('role_id', 'in', ids)
    .groupBy('role_id')
    .execute()

const membersOfGroups = (db: Db, ids: Ids): Promise<Row[]> =>
  db
    .selectFrom('user_groups')
    .select(['group_id as id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('group_id', 'in', ids)
    .groupBy('group_id')
    .execute()

const membersOfOrganizations = (db: Db, ids: Ids): Promise<Row[]> =>
  db
    .selectFrom('organization_members')
    .select(['organization_id as id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('organization_id', 'in', ids)
    .groupBy('organization_id')
    .execute()

const linksTo = (db: Db, providers: Ids) =>
  db
    .selectFrom('federated_links')
    .select(['provider as id', (eb) => eb.fn.countAll<number>().as('count')])
    .where('provider', 'in', providers)
    .groupBy('provider')

/** Users without a password, a passkey and a link to an identity provider that stays. */
const lockedOutWithout = (db: Db, providers: Ids): Promise<Row[]> =>
  linksTo(db, providers)
    .where(
      sql<boolean>`not exists (select 1 from credentials
        where credentials.user_id = federated_links.user_id
        and credentials.type in ('password', 'webauthn'))`,
    )
    .where(
      sql<boolean>`not exists (select 1 from federated_links as other
        where other.user_id = federated_links.user_id and other.provider not in (${sql.join(providers)}))`,
    )
    .execute()

const allOf = async (db: Db, table: 'users' | 'sessions', realm: string): Promise<number> => {
  const row = await db
    .selectFrom(table)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('realm', '=', realm)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export const idsOf = (drafts: Iterable<Draft>, ...kinds: readonly Kind[]): string[] =>
  [...drafts].flatMap(({ kind, id }) => (kinds.includes(kind) ? [id] : []))

const counted = async (
  ids: Ids,
  query: (part: Ids) => Promise<Row[]>,
): Promise<[id: string, count: number][]> =>
  (await readInSlices(ids, query)).map(({ id, count }) => [id, Number(count)])

export const countsOf = async (
  touched: readonly Draft[],
  {
    db,
    realm,
    now,
    wholeRealm,
  }: {
    readonly db: Db
    readonly realm: string
    readonly now: number
    /** Whether the realm itself is switched off. */
    readonly wholeRealm: boolean
  },
): Promise<ImpactCounts> => {
  const providers = idsOf(touched, IdentityProvider)
  const sessions = await Promise.all([
    counted(idsOf(touched, User), (ids) => sessionsOfUsers(db, ids, now)),
    counted(idsOf(touched, Client, SamlClient), (ids) => sessionsOfClients(db, ids)),
  ])
  const members = await Promise.all([
    counted(idsOf(touched, Role, ClientRole), (ids) => holdersOfRoles(db, ids)),
    counted(idsOf(touched, Group), (ids) => membersOfGroups(db, ids)),
    counted(idsOf(touched, Organization), (ids) => membersOfOrganizations(db, ids)),
    counted(providers, (ids) => linksTo(db, ids).execute()),
  ])
  const lockedOut = await counted(providers, (ids) => lockedOutWithout(db, ids))
  return {
    sessions: new Map(sessions.flat()),
    members: new Map(members.flat()),
    lockedOut: new Map(lockedOut),
    realm: wholeRealm
      ? { users: await allOf(db, 'users', realm), sessions: await allOf(db, 'sessions', realm) }
      : { users: 0, sessions: 0 },
  }
}
