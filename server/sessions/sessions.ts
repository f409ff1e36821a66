/**
 * Browser sessions. The cookie holds 256 random bits and the database their digest; every sign-in makes a new one,
 * so that a value planted before it is worth nothing after it. Each request reads the session and its user from
 * the database: what was revoked or disabled a moment ago is refused now, on every node. A session that ends takes
 * the grants with it that were issued within it, in the same transaction.
 */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { SessionRecord } from '#schemas/wire/records.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { guarded, inSlices, insertRows, statement } from '#server/storage/statements.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import {
  endGrantsOfSession,
  endGrantsOutside,
  endGrantsWithin,
} from '#server/tokens/grants/grant-endings.ts'
import { idleSince, touchInterval } from '#server/tokens/lifetimes.ts'
import { printable } from '#server/users/names.ts'
import type { UsersArea } from '#server/users/open.ts'
import { aliveSession, foundOf, withUsers } from './alive-sessions.ts'
import { endSignInsOf } from './begun-sign-ins.ts'
import { isOfUsers, tellClients, tellClientsOfGone } from './endings.ts'

export type SessionSettings = Pick<
  SettingsDoc,
  'ssoSessionIdleTimeout' | 'ssoSessionMaxLifespan' | 'rememberMe'
>

export interface NewSession {
  readonly realm: string
  readonly userId: string
  readonly ip: string
  readonly userAgent: string | undefined
  readonly rememberMe: boolean
  readonly settings: SessionSettings
  /** The methods by which the user signed in (RFC 8176), and what they are worth; a password unless told otherwise. */
  readonly amr?: readonly string[]
  readonly acr?: string
  /** The administrator who acts as the user. */
  readonly impersonator?: string | undefined
  /** The organization that was chosen; that of the session it goes on with unless told otherwise. */
  readonly organization?: string | undefined
  /** The cookie that the browser had before: its session ends in the same transaction. */
  readonly replaces?: string | undefined
  /** The session of the same user that it goes on with: a new cookie and a new sign-in, what was issued stays. */
  readonly continues?: SessionRow | undefined
  /** The user has proved nothing since the session that it goes on with: it stays as old as that, and ends when that would. */
  readonly isUnproved?: boolean
  /** It ends by then, in epoch milliseconds, however long sessions of the realm last. */
  readonly endsBy?: number | undefined
}

export interface OpenedSession {
  readonly cookieValue: string
  readonly session: SessionRow
  readonly statements: readonly Statement[]
}

export interface FoundSession {
  readonly session: SessionRow
  readonly user: UserRow
}

/** As its own user sees it. */
export interface OwnSessionRecord extends SessionRecord {
  readonly userAgent: string | null
  /** Whether an administrator acts as the user in it. */
  readonly impersonated: boolean
}

export interface Sessions {
  openStatements(opening: NewSession): OpenedSession
  /** Undefined unless it is alive, its user may sign in, and an administrator who acts as that user still may. */
  find(
    realm: string,
    cookieValue: string,
    settings: SessionSettings,
  ): Promise<FoundSession | undefined>
  /** As `find`, of the session that tokens name. */
  findBySid(
    realm: string,
    sid: string,
    settings: SessionSettings,
  ): Promise<FoundSession | undefined>
  /** As `findBySid`, of many; those that are not alive are left out. */
  findBySids(
    realm: string,
    sids: readonly string[],
    settings: SessionSettings,
  ): Promise<FoundSession[]>
  /** Remembers that the session is used; writes at most once a minute. */
  touch(session: SessionRow, settings: SessionSettings): Promise<void>
  /** As `touch`, of the session that tokens name, for a write that happens anyway. */
  touchStatements(realm: string, sid: string, settings: SessionSettings): Statement[]
  /** Those that are alive, last used first. */
  list(
    realm: string,
    settings: SessionSettings,
    page?: { first?: number | undefined; max?: number | undefined },
  ): Promise<SessionRecord[]>
  /** Those of one user. */
  listOf(realm: string, settings: SessionSettings, userId: string): Promise<OwnSessionRecord[]>
  /**
   * Ends the session and what was issued within it; an offline grant outlives it. Fails the guard `session` when the
   * realm has no such session.
   */
  revokeStatements(realm: string, sid: string): Statement[]
  /**
   * All sessions and all grants, offline ones too, sessions in which the user acts as others, and sign-ins in progress, but for
   * the one with the handle `signIn`. After the statement that disables or changes the user, so that no sign-in slips between.
   */
  revokeAllOf(userId: string, signIn?: string): Statement[]
  /** As `revokeAllOf`, but for one session and what was issued within it; without one, all. */
  revokeOthersOf(userId: string, sid: string | undefined): Statement[]
  /** Removes what has expired; for the job that keeps tables small. */
  forgetStatements(realm: string, settings: SessionSettings): Statement[]
}

/** Names the sign-in of a session. One that goes on with another without a proof is of the same sign-in, under a new cookie. */
export const signInOf = ({ sid, created_at }: Pick<SessionRow, 'sid' | 'created_at'>): string =>
  `${sid} ${created_at}`

/** What a CSRF token of this session is bound to. */
export const csrfBinding = (session: Pick<SessionRow, 'id'>): string => `session:${session.id}`

type Touched = { realm: string; sid: string; now: number; unlessSince: number }

const touchSession = preparedStatement((db, { realm, sid, now, unlessSince }: Touched) =>
  db
    .updateTable('sessions')
    .set({ last_access: now })
    .where('sid', '=', sid)
    .where('realm', '=', realm)
    .where('last_access', '<=', unlessSince),
)

export const openSessions = ({
  storage,
  clock,
  users: { mayImpersonate },
}: {
  readonly storage: Pick<Storage, 'db' | 'append'>
  readonly clock: Clock
  readonly users: Pick<UsersArea, 'mayImpersonate'>
}): Sessions => {
  const { db } = storage

  const mayGoOn = async ({ session: { impersonator } }: FoundSession): Promise<boolean> =>
    impersonator === null || mayImpersonate(impersonator)

  const end = (realm: string, cookieValue: string): Statement[] => {
    const id = sha256(cookieValue)
    const session = db
      .selectFrom('sessions')
      .select('sid')
      .where('id', '=', id)
      .where('realm', '=', realm)
    return [
      ...tellClients(db, session, clock.now()),
      endGrantsWithin(storage, session),
      statement(db.deleteFrom('sessions').where('id', '=', id).where('realm', '=', realm)),
    ]
  }

  const findAlive = async (
    realm: string,
    column: keyof typeof aliveSession,
    value: string,
    settings: SessionSettings,
  ): Promise<FoundSession | undefined> => {
    const now = clock.now()
    const found = { realm, value, now, idleSince: idleSince(settings, now) }
    const [row] = await aliveSession[column](db, found)
    const session = row && foundOf(realm, row)
    return session && (await mayGoOn(session)) ? session : undefined
  }

  const clientsOf = async (
    sids: readonly string[],
  ): Promise<ReadonlyMap<string, Record<string, string>>> => {
    const clients = new Map<string, Record<string, string>>()
    for (const part of inSlices(sids)) {
      const rows = await db
        .selectFrom('session_clients')
        .innerJoin('documents', 'documents.id', 'session_clients.client_id')
        .select(['session_clients.sid', 'documents.id', 'documents.key'])
        .where('session_clients.sid', 'in', part)
        .orderBy('session_clients.since')
        .execute()
      for (const { sid, id, key } of rows) clients.set(sid, { ...clients.get(sid), [id]: key })
    }
    return clients
  }

  /** Last used first. */
  const alive = (realm: string, settings: SessionSettings) => {
    const now = clock.now()
    return db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .selectAll('sessions')
      .leftJoin('users as admins', 'admins.id', 'sessions.impersonator')
      .select(['users.username', 'admins.username as admin'])
      .where('sessions.realm', '=', realm)
      .where('sessions.expires_at', '>', now)
      .where('sessions.last_access', '>', idleSince(settings, now))
      .orderBy('sessions.last_access', 'desc')
      .orderBy('sessions.sid', 'desc')
  }

  const recordsOf = async <
    Row extends SessionRow & { readonly username: string; readonly admin: string | null },
  >(
    rows: readonly Row[],
  ): Promise<{ readonly row: Row; readonly record: SessionRecord }[]> => {
    const clients = await clientsOf(rows.map(({ sid }) => sid))
    return rows.map((row) => ({
      row,
      record: {
        id: row.sid,
        userId: row.user_id,
        username: row.username,
        ipAddress: row.ip,
        start: row.created_at,
        lastAccess: row.last_access,
        rememberMe: row.remember_me === 1,
        impersonator: row.admin ?? row.impersonator,
        clients: clients.get(row.sid) ?? {},
      },
    }))
  }

  const revoke = (userId: string, sid = '', signIn?: string): Statement[] => {
    const others = db
      .selectFrom('sessions')
      .select('sid')
      .where(isOfUsers([userId]))
      .where('sid', '!=', sid)
    return [
      ...tellClients(db, others, clock.now()),
      endGrantsWithin(storage, others),
      statement(
        db
          .deleteFrom('sessions')
          .where(isOfUsers([userId]))
          .where('sid', '!=', sid),
      ),
      endGrantsOutside(storage, userId, sid),
      endSignInsOf(db, [userId], signIn),
    ]
  }

  return {
    openStatements(opening) {
      const { realm, userId, ip, userAgent, rememberMe, settings, replaces, continues } = opening
      const cookieValue = randomToken()
      const now = clock.now()
      const signedIn = opening.isUnproved ? continues : undefined
      // Two sign-ins of one session at the same moment are two (signInOf).
      const signedInAt = Math.max(now, (continues?.created_at ?? 0) + 1)
      const session: SessionRow = {
        id: sha256(cookieValue),
        sid: continues?.sid ?? newId(),
        realm,
        user_id: userId,
        created_at: signedIn?.created_at ?? signedInAt,
        last_access: now,
        expires_at: Math.min(
          signedIn?.expires_at ?? now + settings.ssoSessionMaxLifespan * 1000,
          opening.endsBy ?? Number.POSITIVE_INFINITY,
        ),
        remember_me: rememberMe && settings.rememberMe ? 1 : 0,
        ip,
        user_agent: userAgent === undefined ? null : printable(userAgent, 500),
        amr: JSON.stringify(opening.amr ?? ['pwd']),
        acr: opening.acr ?? '1',
        impersonator: opening.impersonator ?? null,
        organization_id: opening.organization ?? continues?.organization_id ?? null,
      }
      const before = replaces === undefined ? [] : end(realm, replaces)
      const statements = [
        ...(continues
          ? [statement(db.deleteFrom('sessions').where('id', '=', continues.id))]
          : before),
        ...insertRows(db, 'sessions', [session]),
      ]
      return { cookieValue, session, statements }
    },

    find: (realm, cookieValue, settings) =>
      findAlive(realm, 'sessions.id', sha256(cookieValue), settings),

    findBySid: (realm, sid, settings) => findAlive(realm, 'sessions.sid', sid, settings),

    async findBySids(realm, sids, settings) {
      const now = clock.now()
      const alive = { realm, now, idleSince: idleSince(settings, now) }
      const found: FoundSession[] = []
      for (const part of inSlices(sids)) {
        const rows = await withUsers(db, alive).where('sessions.sid', 'in', part).execute()
        for (const session of rows.map((row) => foundOf(realm, row)))
          if (await mayGoOn(session)) found.push(session)
      }
      return found
    },

    async touch({ id, last_access }, settings) {
      const now = clock.now()
      if (now - last_access < touchInterval(settings)) return
      const used = db
        .updateTable('sessions')
        .set({ last_access: now })
        .where('id', '=', id)
        .where('last_access', '<', now)
      await storage.append([statement(used)])
    },

    touchStatements(realm, sid, settings) {
      const now = clock.now()
      return [touchSession(db, { realm, sid, now, unlessSince: now - touchInterval(settings) })]
    },

    async list(realm, settings, { first = 0, max = 100 } = {}) {
      const rows = await alive(realm, settings).limit(max).offset(first).execute()
      return (await recordsOf(rows)).map(({ record }) => record)
    },

    async listOf(realm, settings, userId) {
      const rows = await alive(realm, settings).where('sessions.user_id', '=', userId).execute()
      return (await recordsOf(rows)).map(({ row, record }) => ({
        ...record,
        userAgent: row.user_agent,
        impersonated: row.impersonator !== null,
      }))
    },

    revokeStatements: (realm, sid) => [
      ...tellClients(
        db,
        db.selectFrom('sessions').select('sid').where('sid', '=', sid).where('realm', '=', realm),
        clock.now(),
      ),
      guarded(
        db.deleteFrom('sessions').where('sid', '=', sid).where('realm', '=', realm),
        'session',
      ),
      endGrantsOfSession(storage, realm, sid),
    ],

    revokeAllOf: (userId, signIn) => revoke(userId, undefined, signIn),
    revokeOthersOf: (userId, sid) => revoke(userId, sid),

    forgetStatements(realm, settings) {
      const now = clock.now()
      const over = db
        .selectFrom('sessions')
        .select('sid')
        .where('realm', '=', realm)
        .where((eb) =>
          eb.or([eb('expires_at', '<=', now), eb('last_access', '<=', idleSince(settings, now))]),
        )
      return [
        // Expired sessions cause no notification: clients have their own lifetimes.
        statement(db.deleteFrom('session_clients').where('sid', 'in', over)),
        statement(db.deleteFrom('sessions').where('sid', 'in', over)),
        ...tellClientsOfGone(db, realm, now),
      ]
    },
  }
}
