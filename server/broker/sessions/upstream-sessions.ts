/**
 * The sessions at identity providers that sessions here came from, for logout in both directions. What a logout there needs
 * (ID token, name) is encrypted. A row outlives its session until the session would have expired, or the provider was told.
 */

import { createSecretKey } from 'node:crypto'
import type { ExpressionBuilder } from 'kysely'
import type { Clock } from '#server/platform/clock.ts'
import { decrypt, encrypt } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { preparedStatement } from '#server/storage/prepared.ts'
import { statement } from '#server/storage/statements.ts'
import type { BrokerSessionRow } from '#server/storage/tables/broker-tables.ts'
import type { SessionRow, Tables } from '#server/storage/tables/tables.ts'
import type { EndedUpstream, UpstreamIdentity, UpstreamSession } from '../protocol.ts'

/** Of an identity, the part that outlives the sign-in. Plain JSON, with an ID token in it: keep it encrypted. */
export interface UpstreamOrigin {
  /** The id of the provider's document. */
  readonly provider: string
  readonly issuer: string
  /** As logout messages name it. */
  readonly subject: string
  readonly session?: UpstreamSession | undefined
}

export const originOf = (provider: string, identity: UpstreamIdentity): UpstreamOrigin => ({
  provider,
  issuer: identity.issuer,
  subject: identity.session?.subject ?? identity.subject,
  session: identity.session,
})

const openSession = preparedStatement(
  (db, row: { [K in keyof BrokerSessionRow]: BrokerSessionRow[K] }) => {
    const { sid, provider, realm, user_id, issuer, subject } = row
    const { upstream_sid, upstream_name, data, created_at, expires_at } = row
    const columns = {
      realm,
      user_id,
      issuer,
      subject,
      upstream_sid,
      upstream_name,
      data,
      created_at,
      expires_at,
    }
    return db
      .insertInto('broker_sessions')
      .values({ sid, provider, ...columns })
      .onConflict((conflict) => conflict.columns(['sid', 'provider']).doUpdateSet(columns))
  },
)

/** The issuer that a session of ours last came from; part of a query. */
export const upstreamIssuer = (eb: ExpressionBuilder<Tables, never>, sid: string) =>
  eb
    .selectFrom('broker_sessions')
    .select('issuer')
    .where('sid', '=', sid)
    .orderBy('created_at', 'desc')
    .limit(1)

export const createUpstreamSessions = ({
  storage: { db },
  clock,
  key: bytes,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly key: Uint8Array
}) => {
  const key = createSecretKey(bytes)
  const contextOf = ({
    realm,
    sid,
    provider,
  }: Pick<BrokerSessionRow, 'realm' | 'sid' | 'provider'>) =>
    `${realm}/broker-session/${sid}/${provider}`

  return {
    /** The session came from there; to be committed with the session. */
    opened: (
      { sid, realm, user_id, expires_at }: SessionRow,
      origin: UpstreamOrigin,
    ): Statement => {
      const { provider, issuer, subject, session = {} } = origin
      return openSession(db, {
        sid,
        provider,
        realm,
        user_id,
        issuer,
        subject,
        upstream_sid: session.id ?? null,
        upstream_name: session.nameKey ?? null,
        data: encrypt(key, JSON.stringify(session), contextOf({ realm, sid, provider })),
        created_at: clock.now(),
        expires_at,
      })
    },

    /** Of a session of ours. */
    ofSession: async (
      sid: string,
    ): Promise<readonly (BrokerSessionRow & { readonly session: UpstreamSession })[]> => {
      const rows = await db
        .selectFrom('broker_sessions')
        .selectAll()
        .where('sid', '=', sid)
        .where('expires_at', '>', clock.now())
        .execute()
      return rows.map((row) => ({
        ...row,
        session: JSON.parse(
          decrypt(key, { kid: 'broker-sessions', v: row.data }, contextOf(row)),
        ) as UpstreamSession,
      }))
    },

    /**
     * The sessions of ours that a logout there ends: of sessions there, or of all of the subject, or of all of the name. A
     * session that came without an id there ends with the subject, also where the message names both.
     */
    endedBy: async (
      provider: string,
      { issuer, subject, nameKey, session, sessions }: Omit<EndedUpstream, 'replay' | 'answer'>,
    ): Promise<BrokerSessionRow[]> => {
      const ours = db
        .selectFrom('broker_sessions')
        .selectAll()
        .where('provider', '=', provider)
        .where('issuer', '=', issuer)
        .where('expires_at', '>', clock.now())
      const named = session === undefined ? (sessions ?? []) : [session]
      if (named.length > 0)
        return ours
          .where((eb) =>
            eb.or([
              eb('upstream_sid', 'in', named),
              ...(subject === undefined
                ? []
                : [eb.and([eb('upstream_sid', 'is', null), eb('subject', '=', subject)])]),
            ]),
          )
          .execute()
      if (subject !== undefined) return ours.where('subject', '=', subject).execute()
      // A logout message without subject, name and session ends no session.
      return nameKey === undefined ? [] : ours.where('upstream_name', '=', nameKey).execute()
    },

    ended: ({ sid, provider }: Pick<BrokerSessionRow, 'sid' | 'provider'>): Statement =>
      statement(
        db.deleteFrom('broker_sessions').where('sid', '=', sid).where('provider', '=', provider),
      ),

    forgetStatements: (): Statement[] => [
      statement(db.deleteFrom('broker_sessions').where('expires_at', '<=', clock.now())),
    ],
  }
}

export type UpstreamSessions = ReturnType<typeof createUpstreamSessions>
