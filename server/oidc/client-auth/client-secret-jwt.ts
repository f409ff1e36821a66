/**
 * A client proves that it knows its secret without sending it (OIDC Core §9). Only where the realm keeps secrets so that
 * they can be read again: a hash verifies no signature.
 */

import { createSecretKey } from 'node:crypto'
import { errors } from 'jose'
import { secretSigningAlgorithms } from '#schemas/kinds/clients/client.ts'
import { type VerifyJwt, verifyWith } from '#server/keys/remote/verify-jwt.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { type AssertionParts, createAssertionCheck, presentedAssertion } from './assertion.ts'
import { type ClientAuthMethod, wrongCredentials } from './method.ts'
import { createPreviousSecret, pointer, type SecretParts } from './secret.ts'

export const clientSecretJwt = (parts: SecretParts & AssertionParts): ClientAuthMethod => {
  const { vault } = parts
  const check = createAssertionCheck(parts)
  const previous = createPreviousSecret(parts)

  /** The present one, and the one before while it is tolerated. */
  const secretsOf = async ({ id, document }: TokenClient): Promise<string[]> =>
    [document.secrets[pointer], await previous(id)].flatMap((stored) => {
      const plain = stored && vault.reveal(document, pointer, stored)
      return typeof plain === 'string' ? [plain] : []
    })

  return {
    name: 'client_secret_jwt',
    isOffered: ({ clientSecretStorage }) => clientSecretStorage === 'revealable',
    algorithms: secretSigningAlgorithms,
    suits: ({ publicClient, tokenEndpointAuthMethod }) =>
      !publicClient && tokenEndpointAuthMethod === 'client_secret_jwt',
    presented: (_request, form) => presentedAssertion(form, secretSigningAlgorithms),
    verify: async (attempt) => {
      const { client } = attempt
      if (!client) return wrongCredentials
      for (const secret of await secretsOf(client))
        try {
          const key = createSecretKey(secret, 'utf8')
          const verify: VerifyJwt = (token, options) => verifyWith(token, key, options)
          return await check(attempt, client, verify, secretSigningAlgorithms)
        } catch (error) {
          if (!(error instanceof errors.JOSEError)) throw error
          if (!(error instanceof errors.JWSSignatureVerificationFailed)) return wrongCredentials
        }
      return wrongCredentials
    },
  }
}
