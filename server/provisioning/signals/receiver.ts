/**
 * The receiver that calls the transmitter: a client, by an access token of its service account with the scope `ssf.manage`,
 * or `ssf.read` where it only reads (CAEP interoperability profile §2.7.3). Both are client scopes that an administrator gives
 * the client: a stream tells about users.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import { bearerIn, isFor, isOwnToken } from '#server/tokens/access/presented.ts'
import { allowedScopes, parseScope, signalsScope } from '#server/tokens/access/scopes.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'

/**
 * Whether the client may have security events now: since it made streams, the administrator may have disabled it, withdrawn the
 * scope, or suspended the agent that it is.
 */
export type MayReceive = (issuer: Issuer, client: TokenClient) => Promise<boolean>

export const createMayReceive =
  ({ agents }: { readonly agents: Pick<Agents, 'endOf' | 'within'> }): MayReceive =>
  async (issuer, client) =>
    client.doc.enabled &&
    allowedScopes(client).has(signalsScope) &&
    (await agents.within(issuer.view, client, [signalsScope])).length > 0 &&
    (await agents.endOf(issuer, client.clientId)) !== undefined

export interface SignalRoute {
  Params: { realm: string; streamId: string }
}

export interface Receiver {
  readonly issuer: Issuer
  readonly client: TokenClient
}

export type ReceiverOf = (
  request: FastifyRequest<SignalRoute>,
  reply: FastifyReply,
  /** One of them is enough; the first is the one that a refusal names. */
  scopes: readonly [string, ...string[]],
) => Promise<Receiver>

/** The transmitter as a resource (RFC 8707 §2). */
const transmitterAudience = (issuer: string): string => `${issuer}/ssf`

/**
 * For the transmitter or, of a client that names no audience, for the issuer. A service that the receiver calls has its token
 * too, and must not read events of users or turn a stream to itself.
 */
const isMeant = ({ url }: Issuer, { claims }: VerifiedToken): boolean =>
  isFor(claims, url) || isFor(claims, transmitterAudience(url))

export const createReceiverOf =
  ({
    issuers,
    verifier,
    agents,
  }: {
    readonly issuers: Issuers
    readonly verifier: Pick<Verifier, 'accessToken'>
    readonly agents: Pick<Agents, 'within'>
  }): ReceiverOf =>
  async (request, reply, scopes) => {
    const { params, headers } = request
    const issuer = await issuers.fresh(params.realm)
    if (!issuer) throw new Problem('not-found', 'There is no such realm.')
    /** RFC 6750 §3: the error is named where there was a token. */
    const challenge = (error?: 'invalid_token' | 'insufficient_scope') =>
      reply.header(
        'www-authenticate',
        [
          `Bearer realm="${issuer.name}"`,
          ...(error ? [`error="${error}"`] : []),
          `scope="${scopes[0]}"`,
        ].join(', '),
      )
    const token = bearerIn(request)
    const verified = token === undefined ? undefined : await verifier.accessToken(issuer, token)
    // A bound token would need its proof (RFC 9449 §7.1), which this API does not take.
    if (!verified || verified.claims['cnf'] !== undefined || !isMeant(issuer, verified)) {
      challenge(headers.authorization === undefined ? undefined : 'invalid_token')
      throw new Problem('unauthenticated', 'Send an access token of the receiver.')
    }
    const { client, claims } = verified
    const allowed = allowedScopes(client)
    const held = parseScope(String(claims['scope'] ?? '')).filter((one) => allowed.has(one))
    const granted = await agents.within(issuer.view, client, held)
    if (!isOwnToken(verified) || !scopes.some((scope) => granted.includes(scope))) {
      challenge('insufficient_scope')
      throw new Problem(
        'forbidden',
        `The token is not of a service account with the scope ${scopes.join(' or ')}.`,
      )
    }
    return { issuer, client }
  }
