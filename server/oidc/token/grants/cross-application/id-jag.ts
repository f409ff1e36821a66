/**
 * The realm as identity provider of cross-application access (draft-ietf-oauth-identity-assertion-authz-grant-05 §4.3): a client
 * exchanges the id token or the refresh token of a user for an ID-JAG, which another authorization server takes as a grant.
 * `crossApplicationAccess` of the client says for which servers, with which scopes and resources. An ID-JAG is no access token
 * and opens nothing of this realm.
 */

import { Client, type CrossApplicationTarget } from '#schemas/kinds/clients/client.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { parseScope } from '#server/tokens/access/scopes.ts'
import type { Agents } from '#server/tokens/agents/agents.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import { invalidRequest, invalidScope, invalidTarget, unauthorizedClient } from '../../../errors.ts'
import type { Parameters } from '../../../parameters.ts'
import { exchangeParameters } from '../exchange/exchange-request.ts'
import type { Grant, GrantContext, Issuance } from '../grant.ts'
import type { JagSubject, ReadJagSubject } from './jag-subject.ts'

export const idJagType = 'urn:ietf:params:oauth:token-type:id-jag'

export interface IdJagParts {
  readonly clock: Clock
  readonly mint: Pick<Mint, 'sign' | 'subject'>
  readonly agents: Pick<Agents, 'of'>
  readonly metrics: Pick<Metrics, 'idJag'>
  readonly subjectOf: ReadJagSubject
}

/** Seconds: long enough for the next request of the client. */
const longest = 300

/** Asked for, or all that the policy has: an ID-JAG without any would leave the choice to the other server. */
const within = (
  allowed: readonly string[],
  asked: readonly string[],
  beyond: (one: string) => Error,
): readonly string[] => {
  const other = asked.find((one) => !allowed.includes(one))
  if (other !== undefined) throw beyond(other)
  return asked.length > 0 ? asked : allowed
}

const targetOf = ({ issuer, client, form }: GrantContext): CrossApplicationTarget => {
  const { crossApplicationAccess } = client.doc
  if (crossApplicationAccess.length === 0)
    throw invalidRequest(
      `requested_token_type must not be ${idJagType}: the client has no crossApplicationAccess`,
    )
  const [audience = '', ...others] = form.all('audience')
  if (audience === '' || others.length > 0)
    throw invalidRequest('audience must name the issuer of one authorization server')
  const target = crossApplicationAccess.find((one) => one.audience === audience)
  // A realm takes no ID-JAG of its own, which would get round the rules of an exchange (§8.3).
  if (!target || audience === issuer.url)
    throw invalidTarget('the client has no crossApplicationAccess for this audience')
  return target
}

const emailClaims = ({ email }: CrossApplicationTarget, user: UserRow) =>
  email && user.email !== null
    ? { email: user.email, email_verified: user.email_verified === 1 }
    : {}

const authenticationClaims = ({ data: { authTime, acr, amr } }: JagSubject) => ({
  ...(authTime === undefined ? {} : { auth_time: Math.floor(authTime / 1000) }),
  ...(acr === undefined ? {} : { acr }),
  ...(amr === undefined || amr.length === 0 ? {} : { amr }),
})

/** Whether a client of the realm gets ID-JAGs. */
export const hasTargets = async ({ view }: Issuer): Promise<boolean> =>
  (await view.list(Client.kind)).some(
    (document) => clientOf(document).doc.crossApplicationAccess.length > 0,
  )

/** Whether a token exchange asks for one. */
export const asksForIdJag = (form: Parameters): boolean =>
  form.get('requested_token_type') === idJagType

export const idJag = (parts: IdJagParts): Grant => {
  const { clock, mint, agents, metrics, subjectOf } = parts

  /** The client as which the other server knows the users of this realm, by whose names and keys it knows them. */
  const relyingPartyOf = async (
    { issuer, client }: GrantContext,
    { relyingParty }: CrossApplicationTarget,
  ): Promise<TokenClient> => {
    if (relyingParty === undefined) return client
    const document = await issuer.view.get(Client.kind, relyingParty)
    const found = document && clientOf(document)
    if (!found?.doc.enabled) throw invalidTarget('the other server may not sign users in here')
    return found
  }

  /** An agent acts for users where its owner has said so. */
  const isAgent = async ({ issuer, client }: GrantContext): Promise<boolean> => {
    const agent = await agents.of(issuer.view, client.clientId)
    if (agent && !agent.doc.allowedDelegation)
      throw unauthorizedClient('the agent may not act for users (allowedDelegation)')
    return agent !== undefined
  }

  const handle = async (context: GrantContext): Promise<Issuance> => {
    const { issuer, client, form, jkt } = context
    if (client.doc.publicClient) throw unauthorizedClient('a public client may not exchange')
    const target = targetOf(context)
    if (form.get('actor_token') !== undefined || form.get('actor_token_type') !== undefined)
      throw invalidRequest('actor_token is not used for an ID-JAG')
    const nhi = await isAgent(context)
    const scope = within(target.scopes, parseScope(form.get('scope')), () =>
      invalidScope('the client has no crossApplicationAccess for this scope'),
    )
    const resources = within(target.resources, form.all('resource'), () =>
      invalidTarget('the client has no crossApplicationAccess for this resource'),
    )
    const relyingParty = await relyingPartyOf(context, target)
    const subject = await subjectOf(context)
    const { user } = subject
    const iat = Math.floor(clock.now() / 1000)
    const lifespan = Math.min(longest, Math.floor(subject.until / 1000) - iat)
    const [resource, ...others] = resources
    const jti = newId()
    const token = await mint.sign(issuer, relyingParty, 'oauth-id-jag+jwt', {
      iss: issuer.url,
      sub: await mint.subject(issuer, relyingParty, user),
      aud: target.audience,
      client_id: target.clientId,
      jti,
      iat,
      exp: iat + lifespan,
      ...(scope.length === 0 ? {} : { scope: scope.join(' ') }),
      ...(resource === undefined ? {} : { resource: others.length === 0 ? resource : resources }),
      ...authenticationClaims(subject),
      ...emailClaims(target, user),
      ...(nhi ? { nhi } : {}),
      // The access token at the other server is for the same key (RFC 9449 §6.1).
      ...(jkt === undefined ? {} : { cnf: { jkt } }),
    })
    return {
      user,
      scope: [],
      doer: { actor: client.id, onBehalfOf: user.id },
      detail: `ID-JAG ${jti} for ${target.audience}, client ${target.clientId} there`,
      instead: {
        issued_token_type: idJagType,
        access_token: token,
        token_type: 'N_A',
        expires_in: lifespan,
        ...(scope.length === 0 ? {} : { scope: scope.join(' ') }),
      },
    }
  }

  return {
    name: 'token-exchange',
    event: 'CROSS_APPLICATION_GRANT',
    readsScope: true,
    readsResource: true,
    parameters: exchangeParameters,
    count: (realm, outcome) => metrics.idJag(realm, 'issue', outcome),
    handle,
  }
}
