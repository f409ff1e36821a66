/** A client proves itself with a key of its own, whose public half we know (RFC 7523, OIDC Core §9). */

import { errors } from 'jose'
import { clientSigningAlgorithms } from '#schemas/kinds/clients/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import { type AssertionParts, createAssertionCheck, presentedAssertion } from './assertion.ts'
import type { ClientKeys } from './client-keys.ts'
import { type ClientAuthMethod, wrongCredentials } from './method.ts'

export interface PrivateKeyJwtParts extends AssertionParts {
  readonly clientKeys: ClientKeys
}

export const privateKeyJwt = (parts: PrivateKeyJwtParts): ClientAuthMethod => {
  const check = createAssertionCheck(parts)
  return {
    name: 'private_key_jwt',
    algorithms: clientSigningAlgorithms,
    suits: ({ publicClient, tokenEndpointAuthMethod }) =>
      !publicClient && tokenEndpointAuthMethod === 'private_key_jwt',
    presented: (_request, form) => presentedAssertion(form, clientSigningAlgorithms),
    // An unknown client costs no verification: the authorize endpoint reveals which clients exist anyway.
    verify: async (attempt) => {
      const { client } = attempt
      if (!client) return wrongCredentials
      try {
        return await check(attempt, client, parts.clientKeys(client), clientSigningAlgorithms)
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof OutgoingError)
          return wrongCredentials
        throw error
      }
    },
  }
}
