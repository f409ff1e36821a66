/**
 * The realm as authorization server of a resource in cross-application access (RFC 7523 §2.1,
 * draft-ietf-oauth-identity-assertion-authz-grant-05 §4.4): an ID-JAG of an identity provider with `crossApplicationAccess` gives
 * the client that it names an access token for the user that a broker link ties to its subject. The token has no refresh token;
 * the client gets another ID-JAG instead, and the provider decides again.
 */

import type { BrokerArea } from '#server/broker/open.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import { ConstraintError } from '#server/storage/contract.ts'
import type { Agents, BoundAgent } from '#server/tokens/agents/agents.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { lifetimesOf } from '#server/tokens/lifetimes.ts'
import { printable } from '#server/users/names.ts'
import type { Delegations, DelegationTerms } from '../../../delegation/delegations.ts'
import { invalidGrant, type OAuthError, unauthorizedClient } from '../../../errors.ts'
import { foreignChain, mayAct } from '../../acting.ts'
import type { Grant, GrantContext, Issuance } from '../grant.ts'
import { grantedResources, grantedScope } from './granted.ts'
import type { Assertion, ReadAssertion } from './read-assertion.ts'

export interface JwtBearerParts {
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly agents: Pick<Agents, 'of'>
  readonly delegations: Pick<Delegations, 'terms' | 'use'>
  readonly metrics: Pick<Metrics, 'idJag'>
  readonly broker: { readonly providers: Pick<BrokerArea['providers'], 'ofIdJags'> }
  readonly read: ReadAssertion
}

const profile = 'urn:ietf:params:oauth:grant-profile:id-jag'
const purpose = 'id-jag'

const refused = (detail: string): OAuthError =>
  invalidGrant('the assertion is not good', { detail })

const notAllowed = (): OAuthError =>
  invalidGrant('the user does not allow this client; ask for consent at /authorize')

export const jwtBearer = (parts: JwtBearerParts): Grant => {
  const { clock, grantsStore, agents, delegations, metrics, broker, read } = parts

  const agentOf = async ({ issuer, client }: GrantContext): Promise<BoundAgent | undefined> => {
    const agent = await agents.of(issuer.view, client.clientId)
    if (agent && !agent.doc.allowedDelegation)
      throw unauthorizedClient('the agent may not act for users (allowedDelegation)')
    return agent
  }

  /** The provider answers for the user; what the user has to be asked here, or has revoked here, it does not (§4). */
  const consentedScope = (
    { client }: GrantContext,
    { seen, consent }: DelegationTerms,
    scope: readonly string[],
  ): readonly string[] => {
    if (seen?.revoked_at) throw notAllowed()
    if (!client.doc.consentRequired) return scope
    if (!consent) throw notAllowed()
    return scope.filter((one) => consent.has(one))
  }

  /** Actors that the provider names stay named (RFC 8693 §4.1), and its limit on who may act holds for the client too (§4.4). */
  const actingClaims = (
    { issuer, client }: GrantContext,
    { claims, identity }: Pick<Assertion, 'claims' | 'identity'>,
  ): Claims => {
    const { act, may_act: named, nhi } = claims
    const chain = act === undefined ? undefined : foreignChain(act, identity.issuer)
    if (act !== undefined && !chain)
      throw refused('act is not a chain of actors, or the chain is too long')
    if (
      named !== undefined &&
      !mayAct(issuer, named, { sub: client.id, client_id: client.clientId })
    )
      throw refused('may_act names another actor')
    return {
      ...(chain ? { act: chain } : {}),
      ...(named === undefined ? {} : { may_act: named }),
      ...(nhi === true ? { nhi } : {}),
    }
  }

  const handle = async (context: GrantContext): Promise<Issuance> => {
    const { issuer, client } = context
    if (client.doc.publicClient) throw unauthorizedClient('a public client may not use an ID-JAG')
    const agent = await agentOf(context)
    const assertion = await read(context)
    const { user, provider, identity, jti, claims, goodUntil } = assertion
    const acting = actingClaims(context, assertion)
    const resources = grantedResources(context, claims)
    const granted = await grantedScope(context, claims)
    const ids = { userId: user.id, agentId: agent?.id ?? '', clientId: client.id }
    const terms = await delegations.terms(ids)
    const scope = consentedScope(context, terms, granted)
    const lifespan = lifetimesOf(issuer.settings, client.doc).accessToken
    const { grant, statements } = grantsStore.create({
      realm: issuer.name,
      clientId: client.id,
      userId: user.id,
      scope,
      expiresAt: clock.now() + lifespan * 1000,
    })
    return {
      user,
      scope,
      resources,
      // Not when and how the user signed in there: nothing here asked for it, nor could have.
      authentication: { grantId: grant.id },
      claims: acting,
      statements: [
        ...statements,
        ...grantsStore.once(issuer.name, purpose, `${identity.issuer} ${jti}`, goodUntil),
        ...(agent ? [delegations.use({ realm: issuer.name, ...ids, scope }, terms.seen)] : []),
      ],
      onConflict: async (error) =>
        error instanceof ConstraintError ? refused('it was used before') : notAllowed(),
      doer: { actor: client.id, onBehalfOf: user.id },
      detail: `ID-JAG ${printable(jti, 255)} of ${provider.alias}, subject ${printable(identity.subject, 255)}`,
    }
  }

  return {
    name: 'jwt-bearer',
    event: 'CROSS_APPLICATION_TOKEN',
    readsScope: true,
    isOffered: async ({ view }) => (await broker.providers.ofIdJags(view)).length > 0,
    metadata: async () => ({ authorization_grant_profiles_supported: [profile] }),
    parameters: { assertion: 'The ID-JAG of a trusted identity provider.' },
    count: (realm, outcome) => metrics.idJag(realm, 'accept', outcome),
    handle,
  }
}
