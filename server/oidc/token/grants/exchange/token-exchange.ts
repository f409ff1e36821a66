/**
 * Token exchange (RFC 8693): a client that holds the token of a user or a service gets one for itself, or for a service
 * behind it. It never extends scope, lifetime or delegation. The issued token belongs to the same grant as the subject
 * token, so that both end together.
 *
 * With an actor token, or if `may_act` names the client, the new token names the actor (delegation, §1.1); without either it
 * is a token of the subject alone (impersonation). An agent has the rules of delegation.ts, and a client with
 * `consentRequired` those of exchange-consent.ts.
 */

import { planScope } from '#schemas/access/admin-access.ts'
import type { Clock } from '#server/platform/clock.ts'
import { allowedScopes, parseScope } from '#server/tokens/access/scopes.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import { endingsOf } from '#server/tokens/token-ids.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { Consents } from '../../../consent/consents.ts'
import { invalidScope, unauthorizedClient } from '../../../errors.ts'
import { type Actor, actingChain, mayAct } from '../../acting.ts'
import { asksForIdJag, hasTargets, idJagType } from '../cross-application/id-jag.ts'
import type { Grant, GrantContext } from '../grant.ts'
import { createExchangeConsent } from './exchange-consent.ts'
import {
  allowedAudiences,
  authenticationOf,
  checkRequested,
  exchangeParameters,
  firstEnd,
} from './exchange-request.ts'
import {
  accessTokenType,
  badToken,
  createReadExchangedToken,
  type ExchangedToken,
} from './exchanged-token.ts'

/** The client's defaults stay: one of them, as `admin:plan`, may be what keeps a token from doing more. */
const scopeOf = (
  client: TokenClient,
  { scope }: ExchangedToken,
  consent: ReadonlySet<string> | undefined,
  asked: string | undefined,
): readonly string[] => {
  const held = scope.filter((one) => one === planScope || (consent?.has(one) ?? true))
  if (asked === undefined) return held.filter((one) => allowedScopes(client).has(one))
  const wanted = parseScope(asked)
  if (wanted.some((one) => !held.includes(one)))
    throw invalidScope('the subject_token does not have this scope, or the user did not consent')
  const kept = held.filter((one) => client.doc.defaultScopes.includes(one))
  return [...new Set([...wanted, ...kept])]
}

/** The token ends with those that were shown, with the grant of a user who acts, and with the grants of those who acted before. */
const actorGrantsOf = (
  { claims }: ExchangedToken,
  shown: ExchangedToken | undefined,
): readonly string[] => [
  ...endingsOf(claims['jti']),
  ...(shown ? endingsOf(shown.claims['jti']) : []),
  ...(shown?.grant ? [shown.grant.id] : []),
]

export const tokenExchange = (
  parts: {
    readonly verifier: Verifier
    readonly grantsStore: GrantsStore
    readonly clock: Clock
    readonly agents: Pick<Agents, 'of'>
    readonly consents: Pick<Consents, 'scopesOf' | 'hold'>
  },
  delegate: Grant,
  jag: Grant,
): Grant => {
  const read = createReadExchangedToken(parts)
  const consentOf = createExchangeConsent(parts)

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
    otherEvents: [delegate.event, jag.event],
    variant: (form) => (asksForIdJag(form) ? jag : undefined),
    metadata: async (issuer): Promise<Readonly<Record<string, unknown>>> =>
      (await hasTargets(issuer))
        ? { identity_chaining_requested_token_types_supported: [idJagType] }
        : {},
    eventFor: async ({ issuer: { view }, client: { clientId } }) =>
      (await parts.agents.of(view, clientId)) ? delegate.event : undefined,
    parameters: exchangeParameters,
    handle: async (context) => {
      const { issuer, client, form, resources } = context
      if (await parts.agents.of(issuer.view, client.clientId)) return delegate.handle(context)
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
      const rest = firstEnd(subject, shown) - Math.floor(parts.clock.now() / 1000)
      const authentication = authenticationOf(subject, parts.grantsStore)
      const consent = await consentOf(context, subject)
      const scope = scopeOf(client, subject, consent?.scopes, form.get('scope'))
      const lifespan = Math.min(rest, lifetimesOf(issuer.settings, client.doc).accessToken)
      const granted = consent?.grant(scope, lifespan)
      return {
        ...(user ? { user } : {}),
        ...(account ? { account } : {}),
        scope,
        resources: [...new Set([...resources, ...allowedAudiences(client, form)])],
        ...(authentication ? { authentication } : {}),
        actorGrantIds: [...actorGrantsOf(subject, shown), ...(granted ? [granted.id] : [])],
        ...(granted ? { statements: granted.statements, onConflict: granted.onConflict } : {}),
        claims: {
          ...actingChain(claims['act'], acting),
          ...(named === undefined ? {} : { may_act: named }),
          // What an agent did for the user stays told when a service passes it on.
          ...(claims['nhi'] === true ? { nhi: true } : {}),
        },
        lifespan,
        detail: [
          `token-exchange from ${subject.client.clientId}`,
          ...(acting ? [`by ${acting.sub}`] : []),
        ].join(' '),
        answer: { issued_token_type: accessTokenType },
      }
    },
  }
}
