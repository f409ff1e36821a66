/** Clients: rules between their fields, and the secret that a confidential one gets. */

import type { ClientDoc } from '#schemas/kinds/client.ts'
import type { FieldError } from '#schemas/problems.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Behaviour } from '../behaviour.ts'
import { type Draft, draftValue } from '../drafts.ts'

const usesSecret = (client: ClientDoc): boolean =>
  !client.publicClient && client.tokenEndpointAuthMethod.startsWith('client_secret')

const rules: readonly ((client: ClientDoc, draft: Draft) => FieldError | false)[] = [
  (client) =>
    client.publicClient &&
    client.grantTypes.includes('client_credentials') && {
      field: '/grantTypes',
      code: 'public-client',
      message: 'a public client cannot use client_credentials: it has nothing to authenticate with',
    },
  (client) =>
    client.publicClient &&
    client.serviceAccountsEnabled && {
      field: '/serviceAccountsEnabled',
      code: 'public-client',
      message: 'a public client cannot have a service account',
    },
  (client, draft) =>
    client.publicClient &&
    draft.secrets['/secret'] !== undefined && {
      field: '/secret',
      code: 'public-client',
      message: 'a public client has no secret',
    },
  (client) =>
    client.jwks !== undefined &&
    client.jwksUri !== undefined && {
      field: '/jwksUri',
      code: 'exclusive',
      message: 'give jwks or jwksUri, not both (RFC 7591 §2)',
    },
  (client) =>
    client.tokenEndpointAuthMethod === 'private_key_jwt' &&
    client.jwks === undefined &&
    client.jwksUri === undefined && {
      field: '/tokenEndpointAuthMethod',
      code: 'keys-missing',
      message: 'private_key_jwt needs jwks or jwksUri',
    },
  (client) =>
    !client.publicClient &&
    client.tokenEndpointAuthMethod === 'none' && {
      field: '/tokenEndpointAuthMethod',
      code: 'public-client',
      message: 'only a public client goes without authentication: set publicClient',
    },
  ({ jwks }) =>
    (jwks?.keys ?? []).some((key) => 'd' in key || 'k' in key) && {
      field: '/jwks',
      code: 'private-key',
      message: 'must hold public keys only',
    },
]

export const client: Behaviour = {
  check: (draft, drafts) => {
    const value = draftValue<ClientDoc>(draft)
    const found = rules.flatMap((rule) => rule(value, draft) || [])
    if (
      value.tokenEndpointAuthMethod === 'client_secret_jwt' &&
      drafts.settings().clientSecretStorage !== 'revealable'
    )
      found.push({
        field: '/tokenEndpointAuthMethod',
        code: 'secret-storage',
        message: 'client_secret_jwt needs the realm setting clientSecretStorage: revealable',
      })
    return found
  },

  prepare: async (draft) => {
    const given = draft.secrets['/secret']
    const has = draft.before?.secrets['/secret'] !== undefined
    if (
      draft.body === null ||
      !usesSecret(draftValue<ClientDoc>(draft)) ||
      given !== undefined ||
      has
    )
      return {}
    const secret = randomToken(32)
    return { secrets: { '/secret': secret }, answer: { secret } }
  },
}
