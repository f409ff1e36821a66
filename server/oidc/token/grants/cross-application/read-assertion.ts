/**
 * An ID-JAG that the realm accepts, and its user (draft-ietf-oauth-identity-assertion-authz-grant §4.4.1, RFC 7523 §3): of a trusted
 * provider, for this realm alone, for the client that presents it, with its key, and of this time. A client learns no reason of
 * a refusal; the audit event has it.
 */

import { decodeJwt } from 'jose'
import type { BrokerArea } from '#server/broker/open.ts'
import { type Provider, UpstreamRefused } from '#server/broker/protocol.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { refusal } from '#server/storage/values.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { LinkedAccount, Links } from '#server/users/links/links.ts'
import { printable } from '#server/users/names.ts'
import { openOrganizationNamed } from '#server/users/organizations/organizations.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { invalidGrant, type OAuthError, oauthError } from '../../../errors.ts'
import type { GrantContext } from '../grant.ts'

export interface Assertion {
  readonly provider: Provider
  readonly identity: LinkedAccount
  /** Enabled and not locked. */
  readonly user: UserRow
  readonly claims: Claims
  readonly jti: string
  /** When its age alone refuses it, in epoch milliseconds. */
  readonly goodUntil: number
}

export type ReadAssertion = (context: GrantContext) => Promise<Assertion>

export interface ReadAssertionParts {
  readonly clock: Clock
  readonly broker: Pick<BrokerArea, 'idJag'> & {
    readonly providers: Pick<BrokerArea['providers'], 'ofIdJags'>
  }
  readonly links: Pick<Links, 'find'>
  readonly users: Pick<Users, 'find'>
  readonly ranks: Pick<Ranks, 'permissionsOf'>
}

/** Seconds that two clocks may differ by. */
const skew = 60
/** Seconds for which an ID-JAG may be good: it is for the next request. */
const longestLife = 600
const longestText = 16 * 1024
const longestId = 255

const away = oauthError('temporarily_unavailable', 503)

const refused = (detail: string): OAuthError =>
  invalidGrant('the assertion is not good', { detail })

const idIn = (claims: Claims, name: string): string => {
  const value = claims[name]
  const isId = typeof value === 'string' && value !== '' && value.length <= longestId
  if (!isId || refusal(value) !== undefined) throw refused(`${name} is missing or has another form`)
  return value
}

const checkTimes = ({ iat, exp }: Claims, now: number): void => {
  if (typeof iat !== 'number' || typeof exp !== 'number')
    throw refused('its iat or exp is missing or not a number')
  if (iat > now + skew) throw refused('its iat is in the future')
  if (exp - iat > longestLife) throw refused(`it is good for more than ${longestLife} s`)
}

/** A key that the ID-JAG names is proven with the request (RFC 7800 §3.1); one of another form cannot be. */
const checkKey = ({ cnf }: Claims, jkt: string | undefined): void => {
  if (cnf === undefined) return
  const { jkt: bound, ...others } = (cnf ?? {}) as Claims
  if (typeof bound !== 'string' || bound !== jkt || Object.keys(others).length > 0)
    throw refused('it is bound to another key')
}

export const createReadAssertion = (parts: ReadAssertionParts): ReadAssertion => {
  const { clock, broker, links, users, ranks } = parts

  const issuerIn = (text: string): string => {
    try {
      return decodeJwt(text).iss ?? ''
    } catch {
      throw refused('it is not a JWT')
    }
  }

  /** One that names us is an ID-JAG of ours: the realm would widen by itself what it has granted (§8.3). */
  const providerOf = async ({ view, url }: Issuer, iss: string): Promise<Provider> => {
    const found = await broker.providers.ofIdJags(view)
    const [provider, ...others] = found.filter(({ config }) => config.issuer === iss)
    if (!provider || others.length > 0 || iss === url) throw refused('its issuer is not trusted')
    const { organization } = provider.doc
    if (organization === undefined) return provider
    if (!(await openOrganizationNamed(view, organization)))
      throw refused('the organization of its provider is disabled')
    return provider
  }

  const verified = async (provider: Provider, text: string, audience: string): Promise<Claims> => {
    try {
      return await broker.idJag(provider, text, audience)
    } catch (error) {
      if (!(error instanceof UpstreamRefused)) throw error
      const detail = `${provider.alias}: ${error.message}`
      if (error.reason === 'unavailable')
        throw away('the identity provider does not answer: try again later', { detail })
      throw refused(detail)
    }
  }

  const userOf = async (
    { view }: Issuer,
    provider: Provider,
    identity: LinkedAccount,
  ): Promise<UserRow> => {
    const link = await links.find(provider, identity)
    if (!link) throw refused(`no user is linked to subject ${printable(identity.subject, 255)}`)
    const user = await users.find(provider.realm, link.user_id)
    if (user?.enabled !== 1 || user.locked !== 0) throw refused('the user may not sign in')
    if (fieldsOf(user).requiredActions.length > 0)
      throw refused('the user has something to do at the next sign-in first')
    // A provider alone admits no administrator (docs/decisions/identity-providers-and-administrators.md).
    if ((await ranks.permissionsOf(view, user.id)).size > 0)
      throw refused('the user is an administrator')
    return user
  }

  return async ({ issuer, client, form, jkt }) => {
    const text = form.require('assertion')
    if (text.length > longestText) throw refused('it is too long')
    const provider = await providerOf(issuer, issuerIn(text))
    const claims = await verified(provider, text, issuer.url)
    if ([claims['aud']].flat().length !== 1) throw refused('it has several audiences')
    if (claims['client_id'] !== client.clientId) throw refused('it is for another client')
    checkTimes(claims, Math.floor(clock.now() / 1000))
    checkKey(claims, jkt)
    // Rich authorization requests (RFC 9396) are not offered: passing over one would give more than it says.
    if (claims['authorization_details'] !== undefined)
      throw refused('authorization_details are not supported')
    const identity = { issuer: idIn(claims, 'iss'), subject: idIn(claims, 'sub') }
    const jti = idIn(claims, 'jti')
    const user = await userOf(issuer, provider, identity)
    const goodUntil = (Number(claims['exp']) + skew + 1) * 1000
    return { provider, identity, user, claims, jti, goodUntil }
  }
}
