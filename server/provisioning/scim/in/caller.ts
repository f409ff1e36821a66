/**
 * Every request to SCIM passes here: the realm is enabled and offers SCIM, else there is nothing (404); the token is one of this
 * realm and alive, else 401; and it may act on this type of resource, else 403.
 */

import type { FastifyRequest } from 'fastify'
import type { ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { type ScimScope, scimOwner } from '#schemas/wire/scim.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Caller } from '#server/http/caller.ts'
import type { SlowRefusal } from '#server/http/limits/slow-refusals.ts'
import { sha256 } from '#server/platform/random.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { gathered } from '#server/storage/gathered.ts'
import { type PresentedToken, tokenInHeader } from '#server/tokens/access/presented.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { provisioningOf } from '../../endpoint.ts'
import { type FindAccessToken, permissionFor, scimAudience } from './access-tokens.ts'
import { forbidden, notFound, ScimError } from './errors.ts'
import type { RefusedTokens } from './refused-tokens.ts'
import type { FindScimToken, ScimToken } from './tokens.ts'

export interface ScimCall {
  readonly realm: string
  readonly view: RealmView
  readonly settings: SettingsDoc
  readonly token: ScimToken
  /** `{issuer}/scim/v2` */
  readonly base: string
  /** Whether clients may send with access tokens. */
  readonly takesAccessTokens: boolean
  /** Without any admin permission: nothing that SCIM writes can grant one. */
  readonly caller: Caller
}

export interface CallParts {
  readonly issuers: Issuers
  readonly scimToken: FindScimToken
  readonly accessToken: FindAccessToken
  readonly refused: RefusedTokens
  readonly slowRefusal: SlowRefusal
}

export type Admit = (request: FastifyRequest, scope?: ScimScope) => Promise<ScimCall>

/** What needs no token of an anonymous caller; a token that is sent must be good, because senders try theirs here. */
export type AdmitAnyone = (
  request: FastifyRequest,
) => Promise<Pick<ScimCall, 'base' | 'takesAccessTokens'>>

/** A SCIM token has no dots in it. */
const isJwt = ({ token }: PresentedToken): boolean => token.split('.').length === 3

const nothing = () => notFound('there is no SCIM service at this address')

const noToken = () =>
  new ScimError(
    401,
    'send a SCIM token of this realm, or the access token of a client that may send',
  )

/** Requests that are admitted together. */
const most = 100

export const createAdmit = ({
  issuers,
  scimToken,
  accessToken,
  refused,
  slowRefusal,
}: CallParts): { readonly admit: Admit; readonly admitAnyone: AdmitAnyone } => {
  const scimTokenOf = async (
    { view }: Issuer,
    { ip }: FastifyRequest,
    { scheme, token: given }: PresentedToken,
  ): Promise<ScimToken | undefined> => {
    if (scheme !== 'Bearer') return undefined
    const hash = sha256(given)
    await refused.refuseFlood(ip, view.realm, hash)
    return scimToken(view, hash)
  }

  const tokenOf = async (
    issuer: Issuer,
    provisioning: ProvisioningDoc,
    request: FastifyRequest,
  ): Promise<ScimToken> => {
    const presented = tokenInHeader(request)
    if (!presented) throw noToken()
    const token = isJwt(presented)
      ? await accessToken(issuer, provisioning, request, presented)
      : await scimTokenOf(issuer, request, presented)
    if (token) return token
    await refused.count(request.ip)
    await slowRefusal(issuer.name)
    throw noToken()
  }

  /** Senders write over many connections: those who ask during a look share the next one. */
  const fresh = gathered(most, (realms: readonly string[]) =>
    Promise.all(realms.map((realm) => issuers.fresh(realm))),
  )

  const serviceOf = async (request: FastifyRequest) => {
    const { realm = '' } = request.params as { realm?: string }
    const issuer = await fresh(realm)
    if (!issuer) throw nothing()
    const provisioning = await provisioningOf(issuer.view)
    if (!provisioning.scimEnabled) throw nothing()
    const told = {
      base: scimAudience(issuer.url),
      takesAccessTokens: provisioning.scimClients.length > 0,
    }
    return { realm, issuer, provisioning, told }
  }

  const admitAnyone: AdmitAnyone = async (request) => {
    const { issuer, provisioning, told } = await serviceOf(request)
    if (request.headers.authorization !== undefined) await tokenOf(issuer, provisioning, request)
    return told
  }

  const admit: Admit = async (request, scope) => {
    const { realm, issuer, provisioning, told } = await serviceOf(request)
    const token = await tokenOf(issuer, provisioning, request)
    if (scope !== undefined && !token.scopes.includes(scope))
      throw forbidden(`the token is not for ${scope}`)
    return {
      realm,
      view: issuer.view,
      settings: issuer.settings,
      token,
      ...told,
      caller: {
        actor: scimOwner(token.sender),
        sourceIp: request.ip,
        permissions: new Set(),
        scoped: new Set(token.scopes.map((one) => permissionFor[one])),
      },
    }
  }
  return { admit, admitAnyone }
}

/** The audit event of a write of data. */
export const scimEvent = (
  { realm, caller, token }: ScimCall,
  type: AuditEvent['type'],
  resource: { readonly type: 'users' | 'groups'; readonly id: string },
  detail?: string,
): AuditEvent => ({
  type,
  realm,
  actor: caller.actor,
  sourceIp: caller.sourceIp,
  outcome: 'SUCCESS',
  resourceType: resource.type,
  resourceId: resource.id,
  detail: `${detail === undefined ? '' : `${detail}; `}${token.kind} ${token.id}`,
})
