/**
 * Token exchange (RFC 8693): a client that holds the token of a user or a service gets one for itself, or for a service
 * behind it. It never extends scope, lifetime or delegation. The issued token belongs to the same grant as the subject
 * token, so that both end together.
 *
 * With an actor token, or if `may_act` names the client, the new token names the actor (delegation, §1.1); without either it
 * is a token of the subject alone (impersonation).
 */

import type { Clock } from '#server/platform/clock.ts'
import { allowedScopes, parseScope } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import type { Authentication } from '#server/tokens/mint.ts'
import { readTokenId } from '#server/tokens/token-ids.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { invalidRequest, invalidScope, invalidTarget, unauthorizedClient } from '../../errors.ts'
import type { Parameters } from '../../parameters.ts'
import { type Actor, actingChain, mayAct } from '../acting.ts'
import {
  accessTokenType,
  badToken,
  createReadExchangedToken,
  type ExchangedToken,
  idTokenType,
} from './exchanged-token.ts'
import type { Grant, GrantContext } from './grant.ts'

const checkRequested = (form: Parameters): void => {
  const type = form.get('requested_token_type')
  if (type !== undefined && type !== accessTokenType)
    throw invalidRequest(`requested_token_type must be ${accessTokenType}`)
  if (form.get('actor_token') === undefined && form.get('actor_token_type') !== undefined)
    throw invalidRequest('there is an actor_token_type and no actor_token')
}

/** Services that the client may speak to by name: those that its tokens are for anyway, and itself. */
const allowedAudiences = ({ clientId, doc }: TokenClient, form: Parameters): readonly string[] => {
  const wanted = form.all('audience')
  const allowed = new Set([clientId, ...doc.audiences, ...doc.allowedResources])
  if (wanted.some((one) => !allowed.has(one)))
    throw invalidTarget('the client may not ask for this audience')
  return wanted
}

/** The client's defaults stay: one of them, as `admin:plan`, may be what keeps a token from doing more. */
const scopeOf = (
  client: TokenClient,
  { scope: held }: ExchangedToken,
  asked: string | undefined,
): readonly string[] => {
  if (asked === undefined) return held.filter((one) => allowedScopes(client).has(one))
  const wanted = parseScope(asked)
  if (wanted.some((one) => !held.includes(one)))
    throw invalidScope('the subject_token does not have this scope')
  const kept = held.filter((one) => client.doc.defaultScopes.includes(one))
  return [...new Set([...wanted, ...kept])]
}

/** What a user who acts has shown: the token ends with it, as it does with the grant of the subject. */
const actorGrantOf = (
  { claims }: ExchangedToken,
  shown: ExchangedToken | undefined,
  isActing: boolean,
): string | undefined =>
  isActing ? shown?.grant?.id : readTokenId(String(claims['jti'] ?? '')).actorGrantId

/** How the user of a token was authenticated, for another token of the same grant. */
export const authenticationOf = (
  { grant, claims }: VerifiedToken,
  grantsStore: Pick<GrantsStore, 'dataOf'>,
): Authentication | undefined => {
  if (!grant) return undefined
  const { sid, auth_time, acr, amr } = claims
  return {
    grantId: grant.id,
    sid: sid as string | undefined,
    authTime: typeof auth_time === 'number' ? auth_time * 1000 : undefined,
    acr: acr as string | undefined,
    amr: amr as readonly string[] | undefined,
    organization: grantsStore.dataOf(grant).organization,
  }
}

export const tokenExchange = (parts: {
  readonly verifier: Verifier
  readonly grantsStore: GrantsStore
  readonly clock: Clock
}): Grant => {
  const read = createReadExchangedToken(parts)

  /** The subject of a token that was issued to the client itself: its service account, or a user. */
  const actorToken = async (context: GrantContext): Promise<ExchangedToken | undefined> => {
    const { client, form } = context
    if (form.get('actor_token') === undefined) return undefined
    const token = await read(context, 'actor_token')
    if (token.client.id !== client.id)
      throw badToken('actor_token', 'it is not a token of this client')
    return token
  }

  return {
    name: 'token-exchange',
    event: 'TOKEN_EXCHANGE',
    parameters: {
      subject_token: 'The token of the subject.',
      subject_token_type: `${accessTokenType}, ${idTokenType}`,
      actor_token: 'The token of the actor.',
      actor_token_type: `${accessTokenType}, ${idTokenType}`,
      requested_token_type: accessTokenType,
      audience: 'The service that the token is for; may be repeated.',
    },
    handle: async (context) => {
      const { issuer, client, form, resources } = context
      if (client.doc.publicClient) throw unauthorizedClient('a public client may not exchange')
      checkRequested(form)
      const subject = await read(context, 'subject_token')
      const { claims, user, account } = subject
      const shown = await actorToken(context)
      const itself: Actor = { sub: client.id, client_id: client.clientId }
      const actor = shown && { ...itself, sub: String(shown.claims['sub']) }
      const named = claims['may_act']
      if (named !== undefined && !mayAct(issuer, named, actor ?? itself))
        throw badToken('subject_token', 'may_act names another actor')
      const acting = actor ?? (named === undefined ? undefined : itself)
      const rest = Number(claims['exp']) - Math.floor(parts.clock.now() / 1000)
      const authentication = authenticationOf(subject, parts.grantsStore)
      return {
        ...(user ? { user } : {}),
        ...(account ? { account } : {}),
        scope: scopeOf(client, subject, form.get('scope')),
        resources: [...new Set([...resources, ...allowedAudiences(client, form)])],
        ...(authentication ? { authentication } : {}),
        actorGrantId: actorGrantOf(subject, shown, acting !== undefined),
        claims: {
          ...actingChain(claims['act'], acting),
          ...(named === undefined ? {} : { may_act: named }),
        },
        lifespan: Math.min(rest, lifetimesOf(issuer.settings, client.doc).accessToken),
        detail: [
          `token-exchange from ${subject.client.clientId}`,
          ...(acting ? [`by ${acting.sub}`] : []),
        ].join(' '),
        answer: { issued_token_type: accessTokenType },
      }
    },
  }
}
