/**
 * Every request to SCIM passes here: the realm is enabled and offers SCIM, else there is nothing (404); the token is one of this
 * realm and alive, else 401; and it may act on this type of resource, else 403.
 */

import type { FastifyRequest } from 'fastify'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { ScimScope } from '#schemas/wire/scim.ts'
import type { AuditEvent } from '#server/audit/audit.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import { sha256 } from '#server/platform/random.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import { provisioningOf } from '../../endpoint.ts'
import { forbidden, notFound, ScimError } from './errors.ts'
import { findScimToken, type ScimToken } from './tokens.ts'

export interface ScimCall {
  readonly realm: string
  readonly view: RealmView
  readonly settings: SettingsDoc
  readonly token: ScimToken
  /** `{issuer}/scim/v2` */
  readonly base: string
  /** Without any admin permission: nothing that SCIM writes can grant one. */
  readonly caller: Caller
}

export interface CallParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly clock: Clock
  readonly issuers: Issuers
}

export type Admit = (request: FastifyRequest, scope?: ScimScope) => Promise<ScimCall>

const bearer = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i

const nothing = () => notFound('there is no SCIM service at this address')

export const ownerOf = ({ sender }: Pick<ScimToken, 'sender'>): string => `scim:${sender}`

export const createAdmit =
  ({ storage, clock, issuers }: CallParts): Admit =>
  async (request, scope) => {
    const { realm = '' } = request.params as { realm?: string }
    const issuer = await issuers.fresh(realm)
    if (!issuer || !(await provisioningOf(issuer.view)).scimEnabled) throw nothing()
    const [, given] = bearer.exec(request.headers.authorization ?? '') ?? []
    const found =
      given === undefined
        ? undefined
        : await findScimToken(storage, { realm, hash: sha256(given), now: clock.now() })
    if (!found) throw new ScimError(401, 'send a SCIM token of this realm as bearer token')
    const { token, use } = found
    if (use.length > 0) await storage.commit(use)
    if (scope !== undefined && !token.scopes.includes(scope))
      throw forbidden(`the token is not for ${scope}`)
    return {
      realm,
      view: issuer.view,
      settings: issuer.settings,
      token,
      base: `${issuer.url}/scim/v2`,
      caller: { actor: ownerOf(token), sourceIp: request.ip, permissions: new Set() },
    }
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
  detail: `${detail === undefined ? '' : `${detail}; `}SCIM token ${token.id}`,
})
