/**
 * Whether what the realm signed is still good: the signature and the times, and then whether the client, the grant,
 * its session and its user are still there. Nothing is remembered between two questions.
 */

import { sql } from 'kysely'
import { Client } from '#schemas/kinds/client.ts'
import type { RealmKeys } from '#server/keys/realm-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import { idleSince } from '#server/sessions/sessions.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables.ts'
import type { TokenGrantRow } from '#server/storage/token-tables.ts'
import { refusal } from '#server/storage/values.ts'
import type { Claims } from './claims/mapper.ts'
import { clientOf, type TokenClient } from './client.ts'
import { readJwt } from './jwt.ts'
import type { Issuer } from './realm.ts'

export interface LiveGrant {
  readonly grant: TokenGrantRow
  /** Nobody where a client acts for itself. */
  readonly user: UserRow | undefined
}

export interface VerifiedToken extends Partial<LiveGrant> {
  readonly claims: Claims
  readonly client: TokenClient
  /** Whose service account it is about, where no user is: the client's own, or one that it acts for. */
  readonly account?: TokenClient
}

export interface Verifier {
  /** An access token of this realm that is good now, whoever it is for: the audience is the caller's to judge. */
  accessToken(issuer: Issuer, token: string): Promise<VerifiedToken | undefined>
  /** A grant whose session and user are there and may be used, and which nothing has revoked. */
  grant(issuer: Issuer, grantId: string): Promise<LiveGrant | undefined>
  /** What one of the realm's keys signed, with its issuer and expired or not: for hints. */
  signed(issuer: Issuer, token: string): Promise<{ typ: string; claims: Claims } | undefined>
}

export interface VerifierParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keys: RealmKeys
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && refusal(value) === undefined ? value : undefined

export const createVerifier = ({ storage: { db }, clock, keys }: VerifierParts): Verifier => {
  const grant: Verifier['grant'] = async ({ name, settings }, grantId) => {
    const now = clock.now()
    const row = await db
      .selectFrom('token_grants as g')
      .leftJoin('users as u', 'u.id', 'g.user_id')
      .leftJoin('sessions as s', (join) =>
        join
          .onRef('s.sid', '=', 'g.sid')
          .onRef('s.realm', '=', 'g.realm')
          .on('s.expires_at', '>', now)
          .on('s.last_access', '>', idleSince(settings, now)),
      )
      .selectAll('u')
      .select([
        'g.id as grant_id',
        'g.client_id',
        'g.user_id',
        'g.sid',
        'g.offline',
        'g.scope',
        'g.data',
        'g.created_at as granted_at',
        'g.last_used_at',
        'g.expires_at',
        's.id as session_id',
        sql<number | null>`(select max(at) from not_before where realm = g.realm and (
          subject_kind = 'realm'
          or (subject_kind = 'client' and subject_id = g.client_id)
          or (subject_kind = 'user' and subject_id = g.user_id)))`.as('not_before'),
      ])
      .where('g.id', '=', grantId)
      .where('g.realm', '=', name)
      .where('g.expires_at', '>', now)
      .executeTakeFirst()
    if (!row) return undefined
    const { grant_id, client_id, user_id, sid, offline, scope, data, granted_at, ...others } = row
    const { last_used_at, expires_at, session_id, not_before, ...user } = others
    if (not_before !== null && granted_at < not_before) return undefined
    if (offline === 0 && sid !== null && session_id === null) return undefined
    if (user_id !== null && (user.enabled !== 1 || user.locked !== 0)) return undefined
    const found: TokenGrantRow = {
      id: grant_id,
      realm: name,
      client_id,
      user_id,
      sid,
      offline,
      scope,
      data,
      created_at: granted_at,
      last_used_at,
      expires_at,
    }
    return { grant: found, user: user_id === null ? undefined : (user as UserRow) }
  }

  const signed: Verifier['signed'] = async ({ view, url }, token) => {
    const read = await readJwt(await keys.of(view), token)
    return read?.claims['iss'] === url ? read : undefined
  }

  /** Whether the token itself was revoked, or everything from its time. */
  const isRevoked = async (
    { name }: Issuer,
    clients: readonly TokenClient[],
    jti: string,
    issuedAt: number,
  ): Promise<boolean> => {
    const ids = sql.join(clients.map(({ id }) => id))
    const { revoked, since } = await db
      .selectNoFrom([
        sql<number | null>`(select 1 from revoked_tokens where jti = ${jti})`.as('revoked'),
        sql<number | null>`(select max(at) from not_before where realm = ${name} and (
          subject_kind = 'realm' or (subject_kind = 'client' and subject_id in (${ids}))))`.as(
          'since',
        ),
      ])
      .executeTakeFirstOrThrow()
    return revoked !== null || (since !== null && issuedAt < since)
  }

  /** The service account that a token without a grant is about. */
  const accountOf = async (
    { view }: Issuer,
    client: TokenClient,
    sub: unknown,
  ): Promise<TokenClient | undefined> => {
    if (sub === client.id) return client
    const document = await view.byId(Client.kind, text(sub) ?? '')
    const account = document && clientOf(document)
    return account?.doc.enabled ? account : undefined
  }

  return {
    grant,
    signed,
    accessToken: async (issuer, token) => {
      const read = await signed(issuer, token)
      if (read?.typ !== 'at+jwt') return undefined
      const { claims } = read
      const [clientId, jti, gid] = [text(claims['client_id']), text(claims['jti']), claims['gid']]
      const { exp, iat } = claims
      if (typeof exp !== 'number' || typeof iat !== 'number' || clientId === undefined)
        return undefined
      if (exp * 1000 <= clock.now() || jti === undefined) return undefined
      const document = await issuer.view.get(Client.kind, clientId)
      const client = document && clientOf(document)
      if (!client?.doc.enabled) return undefined
      const account = gid === undefined ? await accountOf(issuer, client, claims['sub']) : undefined
      if (gid === undefined && !account) return undefined
      const [revoked, live] = await Promise.all([
        isRevoked(issuer, account ? [client, account] : [client], jti, iat * 1000),
        gid === undefined ? undefined : grant(issuer, text(gid) ?? ''),
      ])
      if (revoked || (gid !== undefined && !live)) return undefined
      return { claims, client, ...(account ? { account } : {}), ...live }
    },
  }
}
