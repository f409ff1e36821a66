/** Clients: what public and confidential ones can do, and the keys that their authentication needs. */

import { profileErrors } from '../../access/client-profile.ts'
import { commandLineErrors } from '../../access/command-line.ts'
import {
  Client,
  type ClientDoc,
  clientSigningAlgorithms,
  secretSigningAlgorithms,
} from '../../kinds/clients/client.ts'
import { Settings } from '../../kinds/settings.ts'
import type { FieldError } from '../../problems.ts'
import { type RuleContext, ruleFor } from '../rule.ts'
import { keyErrors } from './client-keys.ts'
import { logoErrors } from './client-logo.ts'
import { crossApplicationErrors } from './cross-application.ts'

const rules: readonly ((client: ClientDoc, context: RuleContext) => FieldError | false)[] = [
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
  (client, { given }) =>
    client.publicClient &&
    given.has('/secret') && {
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
  ({ tokenEndpointAuthMethod: method, tokenEndpointAuthSigningAlg: algorithm }) =>
    ((method === 'private_key_jwt' && secretSigningAlgorithms.some((one) => one === algorithm)) ||
      (method === 'client_secret_jwt' &&
        clientSigningAlgorithms.some((one) => one === algorithm))) && {
      field: '/tokenEndpointAuthSigningAlg',
      code: 'auth-method',
      message: `${method} cannot sign with ${algorithm}`,
    },
  (client) =>
    !client.publicClient &&
    client.tokenEndpointAuthMethod === 'none' && {
      field: '/tokenEndpointAuthMethod',
      code: 'public-client',
      message: 'only a public client goes without authentication: set publicClient',
    },
  (client) =>
    client.defaultScopes.includes('account') && {
      field: '/defaultScopes',
      code: 'asked-for',
      message:
        'account opens the account API: list it in scopes, and ask for it where it is needed',
    },
  (client) =>
    client.publicClient &&
    !client.dpopBoundAccessTokens &&
    client.refreshTokenRotation === 'never' && {
      field: '/refreshTokenRotation',
      code: 'public-client',
      message:
        'refresh tokens of a public client rotate unless dpopBoundAccessTokens is set (RFC 9700 §2.2.2)',
    },
  (client) =>
    client.requireSignedRequestObject &&
    client.jwks === undefined &&
    client.jwksUri === undefined && {
      field: '/requireSignedRequestObject',
      code: 'keys-missing',
      message: 'signed request objects need jwks or jwksUri',
    },
  (client) =>
    client.backchannelTokenDeliveryMode === 'ping' &&
    client.backchannelClientNotificationEndpoint === undefined && {
      field: '/backchannelTokenDeliveryMode',
      code: 'endpoint-missing',
      message: 'ping needs backchannelClientNotificationEndpoint',
    },
  (client) =>
    client.publicClient &&
    client.grantTypes.includes('jwt-bearer') && {
      field: '/grantTypes',
      code: 'public-client',
      message:
        'a public client cannot use jwt-bearer: an ID-JAG is for the client that authenticates',
    },
  (client, { settings }) =>
    client.tokenEndpointAuthMethod === 'client_secret_jwt' &&
    settings.clientSecretStorage !== 'revealable' && {
      field: '/tokenEndpointAuthMethod',
      code: 'secret-storage',
      message: 'client_secret_jwt needs the realm setting clientSecretStorage: revealable',
    },
]

export const client = ruleFor<ClientDoc>(
  Client,
  (value, _key, context) => [
    ...rules.flatMap((rule) => rule(value, context) || []),
    ...keyErrors(value),
    ...logoErrors(value),
    ...profileErrors(value),
    ...commandLineErrors(value),
    ...crossApplicationErrors(value),
  ],
  [Settings],
)
