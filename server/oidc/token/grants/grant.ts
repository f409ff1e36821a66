/**
 * A grant: what a client exchanges for tokens. The token endpoint owns the phases (client authentication, permission,
 * proof of possession, scope policy, issue, durable write, response); a grant only decides what is issued for which subject.
 */

import type { FastifyRequest } from 'fastify'
import type { EventType } from '#schemas/wire/event-types.ts'
import type { Doer } from '#server/sessions/doer.ts'
import type { ConstraintError, GuardFailedError, Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { IssuedRefreshToken } from '#server/tokens/keycloak/refresh-token.ts'
import type { Authentication } from '#server/tokens/mint.ts'
import type { Parameters } from '../../parameters.ts'
import type { GrantType } from '../../vocabulary.ts'

/** An access token that a client authenticated by: what is issued for it ends with it, and before it. */
export interface OwnToken {
  /** What it ends with, and its revocation (token-ids.ts). */
  readonly endings: readonly string[]
  /** Epoch seconds. */
  readonly exp: number
}

export interface GrantContext {
  readonly issuer: Issuer
  /** Authenticated, enabled, and allowed to use the grant. */
  readonly client: TokenClient
  readonly form: Parameters
  /** The scopes it asks for, all allowed, with its defaults; a grant with a scope of its own decides by that. */
  readonly scope: readonly string[]
  /** The resources it asks for, all allowed to the client (RFC 8707). */
  readonly resources: readonly string[]
  /** The key that its tokens will be bound to (RFC 9449). */
  readonly jkt: string | undefined
  /** Its own token, where it authenticated by one. */
  readonly ownToken: OwnToken | undefined
  readonly sourceIp: string
  readonly userAgent: string | undefined
  readonly request: FastifyRequest
}

/** What is to be issued. */
export interface Issuance {
  /** Undefined for a client without a user. */
  readonly user?: UserRow
  /** Whose service account the token is about, where it is not the client's own. */
  readonly account?: TokenClient
  /** What the client may not have any more is left out by the endpoint. */
  readonly scope: readonly string[]
  readonly resources?: readonly string[]
  readonly authentication?: Authentication
  /** The grants of those who act for the subject. */
  readonly actorGrantIds?: readonly string[]
  /** What the server itself adds to the access token: `act`, `nhi` … */
  readonly claims?: Claims
  /** Seconds, where it is not the client's or the realm's. */
  readonly lifespan?: number
  readonly refresh?: IssuedRefreshToken
  /** An id token belongs to the answer; only with a user, an authentication and the scope `openid`. */
  readonly idToken?: { readonly nonce?: string; readonly requestedClaims?: readonly string[] }
  /** Written together with the audit event, after signing and before the answer. */
  readonly statements?: readonly Statement[]
  /** Called if a guard or unique constraint of the statements fails: performs follow-ups and returns the error. */
  readonly onConflict?: (error: GuardFailedError | ConstraintError) => Promise<Error>
  /** The audit event, where it is not the grant's, and its actor where that is not the user. */
  readonly event?: EventType
  readonly doer?: Doer
  readonly detail?: string
  /** More members of the answer, such as `issued_token_type`. */
  readonly answer?: Readonly<Record<string, unknown>>
  /** Answered instead of tokens: the decision of an RPT request. */
  readonly instead?: unknown
}

export interface Grant {
  readonly name: GrantType
  /** True where no user is involved: then configuration is taken as last known, without a query. */
  readonly clientOnly?: true
  /** Recorded with outcome SUCCESS when tokens are issued, and FAILURE when `handle` refuses. */
  readonly event: EventType
  /** The client of a token that the request shows in its header; undefined where the client has to authenticate. */
  readonly clientByToken?: (
    issuer: Issuer,
    request: FastifyRequest,
  ) => Promise<TokenClient | undefined>
  /**
   * True where the endpoint does not judge `scope`: the grant reads it itself (UMA 2.0 Grant §3.3.1), or has no such parameter
   * (RFC 6749 §4.1.3), and one that is sent is passed over (§3.2).
   */
  readonly readsScope?: true
  /** True where `resource` names resources of another server, and the grant reads it itself. */
  readonly readsResource?: true
  /** Whether the realm offers it, where it is not always on; one that is not offered is not in the metadata either. */
  isOffered?(issuer: Issuer): Promise<boolean>
  /** The grant that the parameters ask for in its place. */
  variant?(form: Parameters): Grant | undefined
  /** What the metadata says of it beside its name. */
  metadata?(issuer: Issuer): Promise<Readonly<Record<string, unknown>>>
  /** Counts what became of a request of a client. */
  count?(realm: string, outcome: 'success' | 'refused'): void
  /** What it records instead, of some clients. */
  readonly otherEvents?: readonly EventType[]
  /** The event of this client, where it is another one. */
  eventFor?(place: Pick<GrantContext, 'issuer' | 'client'>): Promise<EventType | undefined>
  /** The parameters it reads, for the API description. */
  readonly parameters: Readonly<Record<string, string>>
  /** Throws an OAuthError where nothing is to be issued. */
  handle(context: GrantContext): Promise<Issuance>
}
