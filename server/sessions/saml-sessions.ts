/**
 * The sessions that users have at SAML service providers: what each was told of a session, so that a logout can name it
 * (SAML Profiles §4.4). A row outlives its session until the service provider has confirmed the logout, or until the session
 * would have expired.
 */

import { type ExpressionBuilder, sql } from 'kysely'
import { isKeyWaiting } from '#server/jobs/store.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { guarded, inSlices, statement } from '#server/storage/statements.ts'
import type { SamlSessionRow } from '#server/storage/tables/saml-tables.ts'
import type { SessionRow, Tables } from '#server/storage/tables/tables.ts'
import { logoutKey, logoutQueue } from './endings.ts'
import { visitClient, visitClientAgain } from './session-clients.ts'

export interface SamlVisit {
  readonly session: SessionRow
  /** The id of the service provider's document. */
  readonly providerId: string
  readonly nameId: { readonly format: string; readonly value: string }
  readonly sessionIndex: string
  /** What `told` says of the session there: what it knows already is not written again. */
  readonly told?: string | null
}

/** What a service provider was told of a session, as `told` reads it. */
const toldText = ({ name_id_format, expires_at, name_id }: Told): string =>
  `${name_id_format} ${expires_at} ${name_id}`

type Told = Pick<SamlSessionRow, 'name_id_format' | 'expires_at' | 'name_id'>

/** The name in it, where it has this format. */
export const nameTold = (text: string | null, format: string): string | undefined => {
  const [own, , ...name] = text?.split(' ') ?? []
  return own === format ? name.join(' ') : undefined
}

/**
 * What the service provider knows of the session, as one text, where it is among those that the end of the session is told;
 * part of a query.
 */
export const told = (
  eb: ExpressionBuilder<Tables, never>,
  { sid, clientId }: { readonly sid: string; readonly clientId: string },
) =>
  eb
    .selectFrom('saml_sessions as there')
    .innerJoin('session_clients as led', (join) =>
      join.onRef('led.sid', '=', 'there.sid').onRef('led.client_id', '=', 'there.client_id'),
    )
    .select(
      sql<string>`there.name_id_format || ' ' || there.expires_at || ' ' || there.name_id`.as(
        'text',
      ),
    )
    .where('there.sid', '=', sid)
    .where('there.client_id', '=', clientId)

/** A session at one service provider. */
export interface SamlSessionKey {
  readonly sid: string
  readonly providerId: string
}

/** Fails where no LogoutRequest of this ID waits for the service provider's answer. */
const answerGuard = 'saml-logout-answer'

/** A name of before is replaced. */
const nameAt = preparedStatement((db, row: Omit<SamlSessionRow, 'logout_request'>) =>
  db
    .insertInto('saml_sessions')
    .values({
      sid: row.sid,
      client_id: row.client_id,
      realm: row.realm,
      user_id: row.user_id,
      session_index: row.session_index,
      name_id: row.name_id,
      name_id_format: row.name_id_format,
      expires_at: row.expires_at,
      since: row.since,
      logout_request: null,
    })
    .onConflict((conflict) =>
      conflict.columns(['sid', 'client_id']).doUpdateSet({
        name_id: row.name_id,
        name_id_format: row.name_id_format,
        expires_at: row.expires_at,
      }),
    ),
)

/** A job that tells the service provider still needs the name. */
const isNeeded = isKeyWaiting(logoutQueue, logoutKey)

/** For an erasure, after the statements that end the sessions; the jobs of these remove the other names. */
export const forgetNamesOf = ({ db }: Pick<Storage, 'db'>, userId: string): Statement =>
  statement(
    db
      .deleteFrom('saml_sessions')
      .where('user_id', '=', userId)
      .where((eb) => eb.not(isNeeded)),
  )

export const createSamlSessions = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}) => ({
  /** The session led there, under this name. */
  visit: ({ session, providerId, nameId, sessionIndex, told: before }: SamlVisit): Statement[] => {
    const { sid, realm, user_id, expires_at } = session
    const now = clock.now()
    const visited = { sid, clientId: providerId, userId: user_id, realm, now }
    const said = { name_id_format: nameId.format, expires_at, name_id: nameId.value }
    if (before === toldText(said)) return [visitClientAgain(db, visited)]
    return [
      visitClient(db, visited),
      nameAt(db, {
        sid,
        client_id: providerId,
        realm,
        user_id,
        session_index: sessionIndex,
        ...said,
        since: now,
      }),
    ]
  },

  /** Those that a service provider knows under a name; also where the session itself has ended. */
  named: (realm: string, providerId: string, nameId: string): Promise<SamlSessionRow[]> =>
    db
      .selectFrom('saml_sessions')
      .selectAll()
      .where('realm', '=', realm)
      .where('client_id', '=', providerId)
      .where('name_id', '=', nameId)
      .where('expires_at', '>', clock.now())
      .execute(),

  /** Those of sessions, at all service providers. */
  ofSessions: async (sids: readonly string[]): Promise<SamlSessionRow[]> => {
    const rows: SamlSessionRow[] = []
    for (const part of inSlices(sids))
      rows.push(
        ...(await db
          .selectFrom('saml_sessions')
          .selectAll()
          .where('sid', 'in', part)
          .where('expires_at', '>', clock.now())
          .execute()),
      )
    return rows.toSorted((a, b) => a.since - b.since)
  },

  at: ({ sid, providerId }: SamlSessionKey): Promise<SamlSessionRow | undefined> =>
    db
      .selectFrom('saml_sessions')
      .selectAll()
      .where('sid', '=', sid)
      .where('client_id', '=', providerId)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst(),

  /** A LogoutRequest is on its way, whose answer is awaited. */
  asked: ({ sid, providerId }: SamlSessionKey, requestId: string): Statement =>
    statement(
      db
        .updateTable('saml_sessions')
        .set({ logout_request: requestId })
        .where('sid', '=', sid)
        .where('client_id', '=', providerId),
    ),

  /** The service provider has confirmed the logout, or has refused it. An answer counts once, and from its addressee alone. */
  answered: (providerId: string, requestId: string, outcome: 'done' | 'failed'): Statement =>
    guarded(
      outcome === 'done'
        ? db
            .deleteFrom('saml_sessions')
            .where('client_id', '=', providerId)
            .where('logout_request', '=', requestId)
        : db
            .updateTable('saml_sessions')
            .set({ logout_request: null })
            .where('client_id', '=', providerId)
            .where('logout_request', '=', requestId),
      answerGuard,
    ),

  /** The session there is over. */
  ended: ({ sid, providerId }: SamlSessionKey): Statement =>
    statement(
      db.deleteFrom('saml_sessions').where('sid', '=', sid).where('client_id', '=', providerId),
    ),

  /** Removes what has expired, and names of deleted users for which no logout waits; of all realms. */
  forgetStatements: (): Statement[] => [
    statement(db.deleteFrom('saml_sessions').where('expires_at', '<=', clock.now())),
    statement(
      db
        .deleteFrom('saml_sessions')
        // Within the index of users: the rows themselves are read only of those who are gone.
        .where(
          'user_id',
          'in',
          sql<string>`(select named.user_id from saml_sessions as named
            where not exists (select 1 from users where users.id = named.user_id))`,
        )
        // Where the session still leads to the client, its logout job is not queued yet.
        .where(
          sql<boolean>`not exists (select 1 from session_clients as led
            where led.sid = saml_sessions.sid and led.client_id = saml_sessions.client_id)`,
        )
        .where((eb) => eb.not(isNeeded)),
    ),
  ],
})

export type SamlSessions = ReturnType<typeof createSamlSessions>
