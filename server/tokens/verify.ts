/**
 * Verification of tokens of the realm: signature and times, and then whether the client, the grant, its session and its
 * user still exist, and whether the agents that act with it are ACTIVE.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { RealmKeys } from '#server/keys/realm-keys.ts'
import type { Clock } from '#server/platform/clock.ts'
import { timeOfId } from '#server/platform/ids.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { refusal } from '#server/storage/values.ts'
import type { MayImpersonate } from '#server/users/impersonators.ts'
import type { Agents } from './agents/agents.ts'
import type { Claims } from './claims/mapper.ts'
import { clientOf, type TokenClient } from './client.ts'
import { createLiveness, type Standing } from './grants/liveness.ts'
import type { Issuer } from './issuers.ts'
import { createReadJwt, tokenEnd } from './jwt.ts'
import { idleSince } from './lifetimes.ts'
import { isToken, readTokenId, tokenOfEnding } from './token-ids.ts'
import type { UserHints } from './user-hints.ts'
import { isWorkloadLive, isWorkloadState } from './workload-state.ts'

export interface LiveGrant {
  readonly grant: TokenGrantRow
  /** Undefined where a client acts for itself. */
  readonly user: UserRow | undefined
}

export interface VerifiedToken extends Partial<LiveGrant> {
  readonly claims: Claims
  readonly client: TokenClient
  /** Whose service account it is about, where no user is: the client's own, or one that it acts for. */
  readonly account?: TokenClient
}

export interface ReadIdToken {
  readonly claims: Claims
  /** The client that it was made for, as the protocol calls it. */
  readonly aud: string
  readonly sub: string
  /** The grant that it came of. */
  readonly grantId: string
  /** Epoch seconds. */
  readonly exp: number
  readonly sid: string | undefined
  /** The user, of an id token whose `sub` does not lead to one. */
  readonly userId: string | undefined
}

export interface Verifier {
  /** A valid access token of this realm, for any audience: the caller checks the audience. */
  accessToken(issuer: Issuer, token: string): Promise<VerifiedToken | undefined>
  /** A grant whose session and user are there and may be used, and which nothing has revoked. */
  grant(issuer: Issuer, grantId: string): Promise<LiveGrant | undefined>
  /** An id token of this realm, expired or not: for hints. */
  idToken(issuer: Issuer, token: string): Promise<ReadIdToken | undefined>
  /** What one of the realm's keys signed, with its issuer and expired or not. */
  signed(issuer: Issuer, token: string): Promise<{ typ: string; claims: Claims } | undefined>
}

export interface VerifierParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly keys: RealmKeys
  readonly agents: Pick<Agents, 'endOf'>
  readonly userHints: Pick<UserHints, 'open'>
  readonly mayImpersonate: MayImpersonate
}

/** What was found out about a token, as of a moment at which the realm was seen. */
interface Judged {
  readonly token: string
  readonly verified: VerifiedToken
  /** When time alone ends it. */
  readonly until: number
}

/** How many tokens are remembered of one moment. */
const KEPT = 1000

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && refusal(value) === undefined ? value : undefined

/** The clients of the issuer in a chain of actors (RFC 8693 §4.1), the last first; an ID-JAG may name those of another. */
const actingClients = (issuer: Pick<Issuer, 'url'>, act: unknown): string[] => {
  if (typeof act !== 'object' || act === null) return []
  const { client_id: clientId, iss = issuer.url, act: before } = act as Claims
  const own = typeof clientId === 'string' && iss === issuer.url ? [clientId] : []
  return [...own, ...actingClients(issuer, before)]
}

export const createVerifier = (parts: VerifierParts): Verifier => {
  const { clock, keys, agents, userHints, mayImpersonate } = parts
  const { db } = parts.storage
  const readJwt = createReadJwt()
  const liveness = createLiveness(db)

  /** When time alone ends a grant: its own, or that of the session which it hangs on. */
  const endOf = (
    { settings }: Issuer,
    { row, session }: NonNullable<Standing['grant']>,
  ): number => {
    if (row.offline !== 0 || row.sid === null) return row.expires_at
    if (!session) return 0
    const idleAt = session.last_access - idleSince(settings, 0)
    return Math.min(row.expires_at, session.expires_at, idleAt)
  }

  /** The grant behind a token, where nothing has ended it. */
  const liveGrant = async (
    issuer: Issuer,
    { grant }: Standing,
  ): Promise<(LiveGrant & { readonly until: number }) | undefined> => {
    if (!grant) return undefined
    const { row, user, notBefore } = grant
    const until = endOf(issuer, grant)
    if (until <= clock.now()) return undefined
    if (notBefore !== null && row.created_at < notBefore) return undefined
    if (row.user_id !== null && (user?.enabled !== 1 || user.locked !== 0)) return undefined
    const impersonator = grant.session?.impersonator ?? null
    if (impersonator !== null && !(await mayImpersonate(impersonator))) return undefined
    return { grant: row, user, until }
  }

  const grant: Verifier['grant'] = async (issuer, grantId) => {
    const standing = await liveness({ realm: issuer.name, grantId }, issuer.mark)
    const live = await liveGrant(issuer, standing)
    return live && { grant: live.grant, user: live.user }
  }

  const signed: Verifier['signed'] = async ({ view, url }, token) => {
    const read = await readJwt(await keys.of(view), token)
    return read?.claims['iss'] === url ? read : undefined
  }

  /** Only an id token has a `jti` with a grant, its audience and its end; an answer of authorize or userinfo has not. */
  const idToken: Verifier['idToken'] = async (issuer, token) => {
    const { typ, claims = {} } = (await signed(issuer, token)) ?? {}
    const { exp } = claims
    const [aud, sub, jti, sid] = ['aud', 'sub', 'jti', 'sid'].map((name) => text(claims[name]))
    const { grantId, userHint } = readTokenId(jti ?? '')
    if (typ !== 'JWT' || typeof exp !== 'number') return undefined
    if (aud === undefined || sub === undefined || grantId === undefined) return undefined
    const userId = userHint === undefined ? undefined : userHints.open(userHint)
    return { claims, aud, sub, grantId, exp, sid, userId }
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

  /** When the ending of a token comes; undefined if it has come. */
  const endOfEnding = async (issuer: Issuer, ending: string): Promise<number | undefined> => {
    const { name: realm, mark, view } = issuer
    if (isWorkloadState(ending))
      return (await isWorkloadLive(view, ending)) ? Number.POSITIVE_INFINITY : undefined
    if (isToken(ending)) {
      const { revoked } = await liveness({ realm, jti: tokenOfEnding(ending) }, mark)
      return revoked ? undefined : Number.POSITIVE_INFINITY
    }
    return (await liveGrant(issuer, await liveness({ realm, grantId: ending }, mark)))?.until
  }

  /** The first of the endings to come; undefined if one has come. */
  const actorEnd = async (
    issuer: Issuer,
    endings: readonly string[],
  ): Promise<number | undefined> => {
    const ends = await Promise.all(endings.map((one) => endOfEnding(issuer, one)))
    return ends.includes(undefined)
      ? undefined
      : Math.min(...ends.map((end) => end ?? 0), Number.POSITIVE_INFINITY)
  }

  /**
   * The clients that a token passed through: the one it was issued to, those of its actors, and the one whose account or grant
   * another service has exchanged. Undefined if one of them is disabled or gone.
   */
  const clientsBehind = async (
    issuer: Issuer,
    { claims, client, account, grant: row }: VerifiedToken,
  ): Promise<ReadonlySet<string> | undefined> => {
    const { view } = issuer
    const first = account?.id ?? row?.client_id ?? client.id
    const documents = [
      ...(first === client.id ? [] : [await view.byId(Client.kind, first)]),
      ...(await Promise.all(
        actingClients(issuer, claims['act'])
          .filter((one) => one !== client.clientId)
          .map((one) => view.get(Client.kind, one)),
      )),
    ]
    const found = documents.map((document) => document && clientOf(document))
    const enabled = found.flatMap((one) => (one?.doc.enabled ? one.clientId : []))
    return enabled.length < found.length ? undefined : new Set([client.clientId, ...enabled])
  }

  /** End of the first agent to end among the clients behind a token; undefined if one of them may not be used. */
  const agentEnd = async (issuer: Issuer, verified: VerifiedToken): Promise<number | undefined> => {
    const clients = await clientsBehind(issuer, verified)
    if (!clients) return undefined
    let end = Number.POSITIVE_INFINITY
    for (const one of clients) {
      const until = await agents.endOf(issuer, one)
      if (until === undefined) return undefined
      end = Math.min(end, until)
    }
    return end
  }

  const judge = async (issuer: Issuer, token: string): Promise<Judged | undefined> => {
    const read = await signed(issuer, token)
    if (read?.typ !== 'at+jwt') return undefined
    const { claims } = read
    const [clientId, jti] = [text(claims['client_id']), text(claims['jti'])]
    const { exp } = claims
    if (typeof exp !== 'number' || clientId === undefined) return undefined
    const expiresAt = exp * 1000
    if (expiresAt <= clock.now() || jti === undefined) return undefined
    const document = await issuer.view.get(Client.kind, clientId)
    const client = document && clientOf(document)
    if (!client?.doc.enabled) return undefined
    const { grantId, actorGrantIds } = readTokenId(jti)
    const account = grantId ? undefined : await accountOf(issuer, client, claims['sub'])
    if (!grantId && !account) return undefined
    const asked = liveness(
      {
        realm: issuer.name,
        jti,
        clientId: client.id,
        ...(account ? { accountId: account.id } : { grantId: grantId ?? '' }),
      },
      issuer.mark,
    )
    // Asked together: one query answers all.
    const [standing, actorUntil] = await Promise.all([asked, actorEnd(issuer, actorGrantIds)])
    const { revoked, clientNotBefore } = standing
    // By the id: `iat` counts whole seconds, and would end what was issued after it in the same second.
    const isSince = clientNotBefore === null || timeOfId(jti) >= clientNotBefore
    if (revoked || !isSince) return undefined
    const live = account ? undefined : await liveGrant(issuer, standing)
    if (!account && !live) return undefined
    const verified: VerifiedToken = live
      ? { claims, client, grant: live.grant, user: live.user }
      : { claims, client, ...(account ? { account } : {}) }
    const agentUntil = await agentEnd(issuer, verified)
    if (actorUntil === undefined || agentUntil === undefined) return undefined
    const until = Math.min(expiresAt, actorUntil, agentUntil, live?.until ?? expiresAt)
    return { token, verified, until }
  }

  /** An issuer with a mark is the realm as of one moment: what was found out stays true until the next one, or its end. */
  const judged = new WeakMap<Issuer, Map<string, Judged>>()

  const judgedOf = (issuer: Issuer): Map<string, Judged> => {
    const before = judged.get(issuer)
    if (before) return before
    const none = new Map<string, Judged>()
    judged.set(issuer, none)
    return none
  }

  return {
    grant,
    idToken,
    signed,
    accessToken: async (issuer, token) => {
      if (issuer.mark === undefined) return (await judge(issuer, token))?.verified
      const known = judgedOf(issuer)
      const end = tokenEnd(token)
      const before = known.get(end)
      if (before?.token === token && clock.now() < before.until) return before.verified
      const found = await judge(issuer, token)
      if (found && known.size < KEPT) known.set(end, found)
      return found?.verified
    },
  }
}
