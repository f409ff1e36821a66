/**
 * Token exchange (RFC 8693): a client that holds a user's access token gets one for itself, or for a service behind it.
 * Nothing grows by it: not the scope, not the lifetime, not who may act. What is issued hangs on the same grant as the
 * token that was shown, so that it ends with it.
 */

import type { TokenClient } from '#server/tokens/client.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import { allowedScopes, offlineScope, parseScope } from '#server/tokens/scopes.ts'
import type { VerifiedToken } from '#server/tokens/verify.ts'
import { type Actor, actingChain, mayAct } from '../acting.ts'
import { invalidRequest, invalidScope, invalidTarget, unauthorizedClient } from '../errors.ts'
import type { Parameters } from '../parameters.ts'
import type { OidcParts } from '../parts.ts'
import type { Grant, GrantContext } from './grant.ts'

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

/** RFC 8693 §2.2.2 wants invalid_request for tokens too. */
const badToken = (name: string, detail: string) =>
  invalidRequest(`the ${name} is not good`, { detail })

const checkType = (form: Parameters, name: string): void => {
  if (form.require(`${name}_type`) !== accessTokenType)
    throw invalidRequest(`${name}_type must be ${accessTokenType}`)
}

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

const scopeOf = (
  client: TokenClient,
  { claims }: VerifiedToken,
  asked: string | undefined,
): string[] => {
  const held = parseScope(String(claims['scope'] ?? '')).filter((one) => one !== offlineScope)
  if (asked === undefined) return held.filter((one) => allowedScopes(client).has(one))
  const wanted = parseScope(asked)
  if (wanted.some((one) => !held.includes(one)))
    throw invalidScope('the subject_token does not have this scope')
  return wanted
}

/** Whose token it is, or whom it is for: nobody else has any business with it. */
const isHeldBy = ({ clientId }: TokenClient, { claims, client }: VerifiedToken): boolean =>
  client.clientId === clientId || [claims['aud']].flat().includes(clientId)

/** A service that got a bound token cannot prove its key; the client it was issued to must. */
const isProven = ({ client, jkt }: GrantContext, token: VerifiedToken): boolean => {
  const bound = (token.claims['cnf'] as { jkt?: unknown } | undefined)?.jkt
  return bound === undefined || token.client.clientId !== client.clientId || bound === jkt
}

export const tokenExchange = ({
  verifier,
  clock,
}: Pick<OidcParts, 'verifier' | 'clock'>): Grant => {
  const subjectOf = async (context: GrantContext): Promise<VerifiedToken> => {
    const { issuer, client, form } = context
    const name = 'subject_token'
    const value = form.require(name)
    checkType(form, name)
    const token = await verifier.accessToken(issuer, value)
    if (!token) throw badToken(name, 'it is not of this realm, or not alive')
    if (!isHeldBy(client, token)) throw badToken(name, 'it is not for this client')
    if (!isProven(context, token)) throw badToken(name, 'it is bound to another key')
    if (!token.user && token.client.id !== client.id)
      throw badToken(name, 'it is of the service account of another client')
    return token
  }

  const actorOf = async (context: GrantContext): Promise<Actor | undefined> => {
    const { issuer, client, form } = context
    const name = 'actor_token'
    const value = form.get(name)
    if (value === undefined) return undefined
    checkType(form, name)
    const token = await verifier.accessToken(issuer, value)
    if (token?.client.id !== client.id) throw badToken(name, 'it is not a token of this client')
    if (!isProven(context, token)) throw badToken(name, 'it is bound to another key')
    return { sub: String(token.claims['sub']), client_id: client.clientId }
  }

  return {
    name: 'token-exchange',
    event: 'TOKEN_EXCHANGE',
    parameters: {
      subject_token: 'The access token of whom the new one will be about.',
      subject_token_type: accessTokenType,
      actor_token: 'The access token of whoever acts for them.',
      actor_token_type: accessTokenType,
      requested_token_type: accessTokenType,
      audience: 'The service that the token is for; may be repeated.',
    },
    handle: async (context) => {
      const { issuer, client, form, resources } = context
      if (client.doc.publicClient) throw unauthorizedClient('a public client may not exchange')
      checkRequested(form)
      const subject = await subjectOf(context)
      const { claims, user, grant } = subject
      const actor = await actorOf(context)
      const itself: Actor = { sub: client.id, client_id: client.clientId }
      const named = claims['may_act']
      if (named !== undefined && !mayAct(issuer, named, actor ?? itself))
        throw badToken('subject_token', 'may_act names another actor')
      const acting = actor ?? (named === undefined ? undefined : itself)
      const rest = Number(claims['exp']) - Math.floor(clock.now() / 1000)
      const { sid, auth_time, acr, amr } = claims
      return {
        ...(user ? { user } : {}),
        scope: scopeOf(client, subject, form.get('scope')),
        resources: [...new Set([...resources, ...allowedAudiences(client, form)])],
        ...(grant
          ? {
              authentication: {
                grantId: grant.id,
                sid: sid as string | undefined,
                authTime: typeof auth_time === 'number' ? auth_time * 1000 : undefined,
                acr: acr as string | undefined,
                amr: amr as readonly string[] | undefined,
              },
            }
          : {}),
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
