/**
 * Access tokens on the admin API. The token of a client that acts for itself has the permissions of the realm roles that
 * its service account holds now. The token of a user who signed in with `iamctl login` has the permissions that the user
 * holds now, whatever the token says about roles. The token must be meant for `{base_url}/admin` and, as sessions are, of
 * the realm itself or of master. A user's token counts only if it was issued to the command line, for the user's own
 * session and bound to a key: a token that another client got for a user is refused
 * (docs/decisions/command-line-sign-in.md).
 */

import type { FastifyRequest } from 'fastify'
import { isPlanOnly, planScope } from '#schemas/access/admin-access.ts'
import type { Permission } from '#schemas/access/permissions.ts'
import { Problem } from '#schemas/problems.ts'
import { OAuthError, schemeOf } from '#server/oidc/errors.ts'
import { boundKey, type Dpop } from '#server/oidc/token/dpop.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { adminAudience } from '#server/tokens/access/audience.ts'
import {
  bringsToken,
  isFor,
  isOfServiceAccount,
  tokenInHeader,
} from '#server/tokens/access/presented.ts'
import { parseScope } from '#server/tokens/access/scopes.ts'
import { isCommandLine } from '#server/tokens/command-line.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { adminMetadata } from './resource-metadata.ts'

export interface AdminToken {
  /** The id of the user, or of the document of a client that acts for itself. */
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
  readonly ranks: Pick<Ranks, 'permissionsOf' | 'permissionsOfServiceAccount'>
  readonly dpop: Pick<Dpop, 'checkPossession'>
  readonly baseUrl: string
  readonly master: string
}

const refused = (): Problem =>
  new Problem('unauthenticated', 'the access token is not valid for the admin API of this realm')

export const createAdminTokens = (parts: AdminTokenParts): AdminTokens => {
  const { issuers, verifier, ranks, dpop, baseUrl, master } = parts
  const audience = adminAudience(baseUrl)
  const metadata = adminMetadata(parts)

  /** Not one that was exchanged, and none that a thief could use without the key. */
  const isOfCommandLine = ({ claims, client, grant, user }: VerifiedToken): boolean =>
    isCommandLine(client) &&
    claims['act'] === undefined &&
    user !== undefined &&
    grant?.client_id === client.id &&
    grant.sid !== null &&
    boundKey(claims) !== undefined

  const isOurs = (verified: VerifiedToken): boolean =>
    isFor(verified.claims, audience) && (isOfServiceAccount(verified) || isOfCommandLine(verified))

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
    { user, client }: VerifiedToken,
  ): Promise<ReadonlySet<Permission>> =>
    user ? ranks.permissionsOf(view, user.id) : ranks.permissionsOfServiceAccount(view, client.doc)

  /** By what the client is now, however it came by this token; the token can only narrow that. */
  const mayOnlyPlan = ({ claims, client }: VerifiedToken): boolean =>
    isPlanOnly(client.doc) || parseScope(String(claims['scope'] ?? '')).includes(planScope)

  return {
    presented: bringsToken,

    challenge: (request, { cause }) => {
      const failed = cause instanceof OAuthError ? cause : undefined
      const error = failed?.code ?? (bringsToken(request) ? 'invalid_token' : undefined)
      const told = [...(error === undefined ? [] : [`error="${error}"`]), metadata].join(', ')
      return {
        'www-authenticate': `${failed?.challenge ?? schemeOf(request)} ${told}`,
        ...failed?.options.headers,
      }
    },

    resolve: async (request, realm, isProven = false) => {
      const presented = tokenInHeader(request)
      if (!presented) throw refused()
      const { issuer, verified } = await find(presented.token, realm)
      const { claims, client, user } = verified
      try {
        if (!isProven)
          await dpop.checkPossession(issuer, request, {
            ...presented,
            claims,
            client,
            address: `${baseUrl}${request.url.split('?', 1)[0]}`,
          })
      } catch (error) {
        if (!(error instanceof OAuthError) || error.status >= 500) throw error
        throw new Problem('unauthenticated', error.message, { cause: error })
      }
      return {
        actor: user?.id ?? client.id,
        tokenRealm: issuer.name,
        permissions: await permissionsOf(issuer.view, verified),
        planOnly: mayOnlyPlan(verified),
      }
    },
  }
}
