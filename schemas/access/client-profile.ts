/**
 * The rules of client profiles, and the values that contradict them: FAPI 2.0 Security Profile (final), FAPI 2.0
 * Message Signing, and OAuth 2.1 as required by the MCP authorization specification. One word instead of ten flags.
 */

import type { ClientDoc } from '../kinds/clients/client.ts'
import type { FieldError } from '../problems.ts'

export const isFapi = ({ profile }: Pick<ClientDoc, 'profile'>): boolean =>
  profile === 'fapi-2-security' || profile === 'fapi-2-message-signing'

/** RFC 9700 §4.14.2, FAPI 2.0 §5.3.2.1-9: a bound token of a client that authenticates needs no rotation. */
const rotationOf = (client: ClientDoc): ClientDoc['refreshTokenRotation'] => {
  const isBound = client.dpopBoundAccessTokens || isFapi(client)
  return client.refreshTokenRotation === 'realm' && isBound && !client.publicClient
    ? 'never'
    : client.refreshTokenRotation
}

/** The client with everything that its profile switches on. */
export const underProfile = (client: ClientDoc): ClientDoc => {
  if (client.profile === 'none') return client
  const all = { ...client, requirePkce: true, refreshTokenRotation: rotationOf(client) }
  if (!isFapi(client)) return all
  return {
    ...all,
    requirePar: true,
    dpopBoundAccessTokens: true,
    idTokenSignedResponseAlg: 'PS256',
    authorizationSignedResponseAlg: 'PS256',
    requireSignedRequestObject:
      client.requireSignedRequestObject || client.profile === 'fapi-2-message-signing',
  }
}

type Contradiction = (client: ClientDoc) => Pick<FieldError, 'field' | 'message'> | false

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)

const openRedirect = ({ redirectUris }: ClientDoc): string | undefined =>
  redirectUris.find((uri) => {
    const url = URL.parse(uri)
    return url !== null && url.protocol === 'http:' && !isLoopback(url)
  })

const ofEvery: readonly Contradiction[] = [
  ({ grantTypes }) =>
    grantTypes.includes('password') && {
      field: '/grantTypes',
      message: 'must not have password (OAuth 2.1 §10.1, FAPI 2.0 §5.3.2.1)',
    },
  (client) =>
    openRedirect(client) !== undefined && {
      field: '/redirectUris',
      message: `must use https: ${openRedirect(client)} (OAuth 2.1 §2.3.1, FAPI 2.0 §5.3.2.2)`,
    },
]

const signingFields = [
  'tokenEndpointAuthSigningAlg',
  'requestObjectSigningAlg',
  'backchannelAuthenticationRequestSigningAlg',
] as const

const ofFapi: readonly Contradiction[] = [
  ({ publicClient }) =>
    publicClient && {
      field: '/publicClient',
      message: 'must be false: only confidential clients (FAPI 2.0 §5.3.2.1)',
    },
  ({ tokenEndpointAuthMethod }) =>
    tokenEndpointAuthMethod !== 'private_key_jwt' && {
      field: '/tokenEndpointAuthMethod',
      message: 'must be private_key_jwt (FAPI 2.0 §5.3.2.1)',
    },
  ({ refreshTokenRotation }) =>
    refreshTokenRotation === 'always' && {
      field: '/refreshTokenRotation',
      message: 'must not be always (FAPI 2.0 §5.3.2.1)',
    },
  (client) => {
    const field = signingFields.find((name) => client[name] === 'RS256')
    return (
      field !== undefined && {
        field: `/${field}`,
        message: 'must not be RS256 (FAPI 2.0 §5.4.1)',
      }
    )
  },
  ({ userinfoSignedResponseAlg }) =>
    userinfoSignedResponseAlg === 'RS256' && {
      field: '/userinfoSignedResponseAlg',
      message: 'must be PS256 (FAPI 2.0 §5.4.1)',
    },
  ({ authorizationSignedResponseAlg }) =>
    authorizationSignedResponseAlg === 'RS256' && {
      field: '/authorizationSignedResponseAlg',
      message: 'must be PS256 (FAPI 2.0 §5.4.1)',
    },
]

/** Every field that contradicts the profile, with the section of the rule. */
export const profileErrors = (client: ClientDoc): FieldError[] => {
  if (client.profile === 'none') return []
  return [...ofEvery, ...(isFapi(client) ? ofFapi : [])].flatMap((rule) => {
    const found = rule(client)
    return found
      ? [
          {
            ...found,
            code: 'profile',
            message: `${found.message}, as the profile ${client.profile} says`,
          },
        ]
      : []
  })
}
