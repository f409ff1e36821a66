/**
 * Access tokens on the admin API: a client that acts for itself, with the permissions that the realm roles of its service
 * account come to now, whatever the token says about roles. The token must be meant for `{base_url}/admin`. As with
 * sessions it is of the realm itself or of master. A token of a user is none: people sign in.
 */

import type { FastifyRequest } from 'fastify'
import { isPlanOnly, planScope } from '#schemas/admin-access.ts'
import type { ClientDoc } from '#schemas/kinds/client.ts'
import { Role } from '#schemas/kinds/role.ts'
import type { Permission } from '#schemas/permissions.ts'
import { Problem } from '#schemas/problems.ts'
import type { Ranks } from '#server/accounts/permissions.ts'
import type { Dpop } from '#server/oidc/dpop.ts'
import { OAuthError, schemeOf } from '#server/oidc/errors.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { Issuer, Issuers } from '#server/tokens/realm.ts'
import { parseScope } from '#server/tokens/scopes.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import { adminAudience, adminMetadata } from './resource-metadata.ts'

export interface AdminToken {
  /** The id of the client's document. */
  readonly actor: string
  readonly tokenRealm: string
  /** In the realm of the token. */
  readonly permissions: ReadonlySet<Permission>
  readonly planOnly: boolean
}

export interface AdminTokens {
  /** Whether the request brings a token, good or not: then nothing else about it counts. */
  presented(request: FastifyRequest): boolean
  /** Throws a 401 unless the token is good here. A proof is good once: it is not asked for a second time. */
  resolve(request: FastifyRequest, realm: string, isProven?: boolean): Promise<AdminToken>
  /** Headers of a 401: how the API is to be asked (RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1). */
  challenge(request: FastifyRequest, refusal: Problem): Readonly<Record<string, string>>
}

export interface AdminTokenParts {
  readonly issuers: Issuers
  readonly verifier: Verifier
  readonly ranks: Pick<Ranks, 'permissionsOfRoles'>
  readonly dpop: Pick<Dpop, 'checkPossession'>
  readonly baseUrl: string
  readonly master: string
}

const header = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*)$/i

const refused = (): Problem =>
  new Problem('unauthenticated', 'the access token is not good for this realm of the admin API')

export const createAdminTokens = (parts: AdminTokenParts): AdminTokens => {
  const { issuers, verifier, ranks, dpop, baseUrl, master } = parts
  const audience = adminAudience(parts)
  const metadata = adminMetadata(parts)

  const isOurs = ({ claims, client, account }: VerifiedToken): boolean =>
    [claims['aud']].flat().includes(audience) &&
    account?.id === client.id &&
    claims['act'] === undefined &&
    client.doc.serviceAccountsEnabled

  const find = async (
    token: string,
    realm: string,
  ): Promise<{ issuer: Issuer; verified: VerifiedToken }> => {
    for (const name of new Set([realm, master])) {
      const issuer = await issuers.fresh(name)
      const verified = issuer && (await verifier.accessToken(issuer, token))
      if (issuer && verified && isOurs(verified)) return { issuer, verified }
    }
    throw refused()
  }

  const permissionsOf = async (
    view: RealmView,
    { serviceAccountRoles }: ClientDoc,
  ): Promise<ReadonlySet<Permission>> => {
    const roles = await Promise.all(serviceAccountRoles.map((name) => view.get(Role.kind, name)))
    return ranks.permissionsOfRoles(
      view,
      roles.filter((role) => role !== undefined),
    )
  }

  /** By what the client is now, however it came by this token; the token can only narrow that. */
  const mayOnlyPlan = ({ claims, client }: VerifiedToken): boolean =>
    isPlanOnly(client.doc) || parseScope(String(claims['scope'] ?? '')).includes(planScope)

  const presented: AdminTokens['presented'] = ({ headers: { authorization } }) =>
    /^(bearer|dpop)\b/i.test(authorization ?? '')

  return {
    presented,

    challenge: (request, { cause }) => {
      const failed = cause instanceof OAuthError ? cause : undefined
      const error = failed?.code ?? (presented(request) ? 'invalid_token' : undefined)
      const told = [...(error === undefined ? [] : [`error="${error}"`]), metadata].join(', ')
      return {
        'www-authenticate': `${failed?.challenge ?? schemeOf(request)} ${told}`,
        ...failed?.options.headers,
      }
    },

    resolve: async (request, realm, isProven = false) => {
      const [, scheme = '', token] = header.exec(request.headers.authorization ?? '') ?? []
      if (token === undefined) throw refused()
      const { issuer, verified } = await find(token, realm)
      const { claims, client } = verified
      try {
        if (!isProven)
          await dpop.checkPossession(issuer, request, {
            scheme: scheme.toLowerCase() === 'dpop' ? 'DPoP' : 'Bearer',
            token,
            claims,
            address: `${baseUrl}${request.url.split('?', 1)[0]}`,
          })
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status >= 500) throw error
        throw new Problem('unauthenticated', error.message, { cause: error })
      }
      return {
        actor: client.id,
        tokenRealm: issuer.name,
        permissions: await permissionsOf(issuer.view, client.doc),
        planOnly: mayOnlyPlan(verified),
      }
    },
  }
}
