/**
 * Senders that authenticate as a client (OAuth 2.0 client_credentials), with an access token in the place of a SCIM token. The
 * realm names the clients in `provisioning.scimClients`, and what the client may act on follows from the permissions of its
 * service account: so an administrator without them does not get the secret of such a client (server/realm/rules/grants.ts).
 */

import type { FastifyRequest } from 'fastify'
import type { Permission } from '#schemas/access/permissions.ts'
import type { ProvisioningDoc } from '#schemas/kinds/provisioning/provisioning.ts'
import { type ScimScope, scimScopes } from '#schemas/wire/scim.ts'
import {
  isFor,
  isOfServiceAccount,
  type PresentedToken,
  requestAddress,
} from '#server/tokens/access/presented.ts'
import type { Claims } from '#server/tokens/claims/mapper.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { VerifiedToken, Verifier } from '#server/tokens/verify.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { ScimError } from './errors.ts'
import type { ScimToken } from './tokens.ts'

/** Throws an error with a status below 500 unless a token that is bound to a key comes with its proof (RFC 9449 §7.1). */
export interface Possession {
  checkPossession(
    issuer: Issuer,
    request: FastifyRequest,
    presented: PresentedToken & {
      readonly claims: Claims
      readonly client: TokenClient
      readonly address: string
    },
  ): Promise<void>
}

export interface AccessTokenParts {
  readonly verifier: Pick<Verifier, 'accessToken'>
  readonly possession: Possession
  readonly ranks: Pick<Ranks, 'permissionsOfServiceAccount'>
}

export const scimAudience = (issuer: string): string => `${issuer}/scim/v2`

/** What a scope stands for in the admin API. */
export const permissionFor: Readonly<Record<ScimScope, Permission>> = {
  users: 'manage-users',
  groups: 'manage-organizations',
}

/** For SCIM or, of a client that names no audience, for the issuer; not one that another service received. */
const isMeant = ({ url }: Issuer, { claims }: VerifiedToken): boolean =>
  isFor(claims, url) || isFor(claims, scimAudience(url))

/** What was thrown, as an error of SCIM where it blames the request. */
const refusedProof = (error: unknown): unknown => {
  const { status } = error as { status?: unknown }
  return error instanceof Error && typeof status === 'number' && status < 500
    ? new ScimError(401, error.message)
    : error
}

export const createAccessTokens = ({ verifier, possession, ranks }: AccessTokenParts) => {
  /** A proof is good once, and one request may be admitted more than once. */
  const proven = new WeakSet<FastifyRequest>()

  const scopesOf = async (
    { view }: Issuer,
    { client }: VerifiedToken,
  ): Promise<readonly ScimScope[]> => {
    const held = await ranks.permissionsOfServiceAccount(view, client.doc)
    return scimScopes.filter((scope) => held.has(permissionFor[scope]))
  }

  /** Undefined where the token is none of a client that may send. */
  return async (
    issuer: Issuer,
    { scimClients }: Pick<ProvisioningDoc, 'scimClients'>,
    request: FastifyRequest,
    presented: PresentedToken,
  ): Promise<ScimToken | undefined> => {
    const verified = await verifier.accessToken(issuer, presented.token)
    if (!verified || !isOfServiceAccount(verified) || !isMeant(issuer, verified)) return undefined
    const { client, claims } = verified
    if (!scimClients.includes(client.clientId)) return undefined
    try {
      if (!proven.has(request))
        await possession.checkPossession(issuer, request, {
          ...presented,
          claims,
          client,
          address: requestAddress(issuer, request),
        })
    } catch (error) {
      throw refusedProof(error)
    }
    proven.add(request)
    return {
      id: String(claims['jti']),
      kind: 'access token',
      sender: client.clientId,
      scopes: await scopesOf(issuer, verified),
    }
  }
}

export type FindAccessToken = ReturnType<typeof createAccessTokens>
