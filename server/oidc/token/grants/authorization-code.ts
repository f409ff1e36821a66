/**
 * The exchange of a code (RFC 6749 §4.1.3): for the client it was made for, the redirect URI it was sent to, and the
 * holder of the PKCE verifier (RFC 7636 §4.6). A code that comes twice ends what it gave (RFC 6749 §4.1.2).
 */

import { createHash } from 'node:crypto'
import type { Recorder } from '#server/audit/audit.ts'
import type { Clock } from '#server/platform/clock.ts'
import { constantTimeEqual } from '#server/platform/random.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { AuthorizationCodeRow } from '#server/storage/tables/token-tables.ts'
import { codeGuard } from '#server/tokens/grants/authorization-codes.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import { invalidGrant, type OAuthError } from '../../errors.ts'
import type { CodeData, Codes } from '../codes.ts'
import { grantAuthentication } from './authentication.ts'
import type { Grant, GrantContext } from './grant.ts'
import { narrowedResources } from './narrow.ts'
import type { Prolong } from './prolong.ts'

export interface AuthorizationCodeParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly grantsStore: GrantsStore
  readonly verifier: Verifier
  readonly codes: Codes
  readonly prolong: Prolong
}

const verifierSyntax = /^[A-Za-z0-9._~-]{43,128}$/

const refused = (detail: string) => invalidGrant('the code is not good', { detail })

const checkVerifier = (challenge: string | undefined, verifier: string | undefined): void => {
  if (challenge === undefined) {
    // Accepting it would let a stripped challenge go unnoticed (CVE-2024-23647).
    if (verifier !== undefined) throw invalidGrant('there was no code_challenge to verify')
    return
  }
  if (verifier === undefined) throw invalidGrant('the code_verifier is missing')
  if (!verifierSyntax.test(verifier)) throw invalidGrant('the code_verifier is not spelled as one')
  const digest = createHash('sha256').update(verifier).digest('base64url')
  if (!constantTimeEqual(digest, challenge)) throw invalidGrant('the code_verifier is wrong')
}

/** Clients of OAuth 2.1 send no redirect_uri here: PKCE protects against injected codes (draft-ietf-oauth-v2-1 §10.2). One that is sent is compared. */
const redirectUriIn = (data: CodeData, { form }: GrantContext): string => {
  if (data.codeChallenge === undefined) return form.require('redirect_uri')
  return form.get('redirect_uri') ?? data.redirectUri
}

const checkBinding = (data: CodeData, context: GrantContext): void => {
  const { form, jkt } = context
  if (redirectUriIn(data, context) !== data.redirectUri)
    throw invalidGrant('the redirect_uri is not the one that the code was sent to')
  checkVerifier(data.codeChallenge, form.get('code_verifier'))
  if (data.dpopJkt !== undefined && jkt !== data.dpopJkt)
    throw invalidGrant('the code is bound to another key')
}

export const authorizationCode = (parts: AuthorizationCodeParts): Grant => {
  const { clock, recorder, grantsStore, verifier, codes, prolong } = parts

  const endReused = async (grantId: string): Promise<OAuthError> => {
    await recorder.append(grantsStore.revoke(grantId), [])
    return refused('it was used before')
  }

  const find = async ({ issuer, client, form }: GrantContext): Promise<AuthorizationCodeRow> => {
    const code = form.require('code')
    const row = await grantsStore.findCode(issuer.name, code)
    if (!row) {
      const grant = await grantsStore.grantOfForgottenCode(issuer.name, code)
      if (grant?.client_id === client.id) throw await endReused(grant.id)
      throw refused('there is no such code')
    }
    if (row.client_id !== client.id) throw refused('it was made for another client')
    if (row.used_at !== null) throw await endReused(row.grant_id)
    return row
  }

  return {
    name: 'authorization_code',
    event: 'CODE_TO_TOKEN',
    readsScope: true,
    parameters: {
      code: 'The code of the authorization response.',
      redirect_uri:
        'The redirect URI of the authorization request; may be left out with a code_verifier.',
      code_verifier: 'The PKCE verifier (RFC 7636).',
    },
    handle: async (context) => {
      const { issuer, client, jkt } = context
      const row = await find(context)
      if (row.expires_at <= clock.now()) throw refused('it has expired')
      checkBinding(JSON.parse(row.data) as CodeData, context)
      const live = await verifier.grant(issuer, row.grant_id)
      if (!live?.user) throw refused('the session or the user is gone')

      const { grant, user } = live
      const [scope, data] = [grantsStore.scopeOf(grant), grantsStore.dataOf(grant)]
      const { nonce, idTokenClaims } = data
      const { refresh, ...change } = prolong(context, grant, scope, data)
      // A confidential client may change its key (RFC 9449 §5): its secret binds the refresh token.
      const bound = jkt !== undefined && client.doc.publicClient ? { ...data, jkt } : data
      return {
        user,
        scope,
        resources: narrowedResources(client, data.resources ?? [], context.resources),
        authentication: grantAuthentication(grant, data),
        ...(data.claims ? { claims: data.claims } : {}),
        idToken: {
          ...(nonce === undefined ? {} : { nonce }),
          ...(idTokenClaims ? { requestedClaims: idTokenClaims } : {}),
        },
        ...(refresh ? { refresh } : {}),
        statements: [
          ...grantsStore.useCode(row),
          ...codes.redeem(grant, { ...change, data: bound }),
          ...(refresh?.statements ?? []),
        ],
        onConflict: async (error) => {
          const reused = error instanceof GuardFailedError && error.guard === codeGuard
          return reused ? endReused(grant.id) : refused('the grant was ended')
        },
      }
    },
  }
}
