/**
 * The client of `iamctl login`. Its access tokens open the admin API, so its security-relevant fields are fixed and equal in
 * every realm: a redirect URI, a name on the consent page or a key added by an administrator with `manage-clients` would
 * give access to the tokens of administrators with more permissions
 * (docs/decisions/command-line-sign-in.md).
 */

import { isDeepStrictEqual } from 'node:util'
import type { Doc } from '../json-schema.ts'
import { Client, type ClientDoc } from '../kinds/clients/client.ts'
import { compact } from '../normalize.ts'
import type { FieldError } from '../problems.ts'

export const commandLineId = 'iamctl-cli'

export const commandLineClient = {
  clientId: commandLineId,
  name: 'iamctl',
  description: 'The command line.',
  publicClient: true,
  grantTypes: ['authorization_code', 'device', 'refresh_token'],
  redirectUris: ['http://127.0.0.1/callback'],
  loopbackPorts: true,
  tokenEndpointAuthMethod: 'none',
  consentRequired: true,
  fullScopeAllowed: false,
  refreshTokenRotation: 'always',
  requirePkce: true,
  dpopBoundAccessTokens: true,
} as const

/** What a realm may set: whether people may sign in from the command line at all, and for how long. */
const free: ReadonlySet<string> = new Set([
  'enabled',
  'accessTokenLifespan',
  'refreshTokenLifespan',
])

const born = compact(Client, commandLineClient)

/** The fields of a client of this name that are not as every realm has them. */
export const commandLineFaults = (client: Doc): readonly string[] => {
  const given = compact(Client, client)
  return [...new Set([...Object.keys(born), ...Object.keys(given)])].filter(
    (field) => !free.has(field) && !isDeepStrictEqual(given[field], born[field]),
  )
}

export const commandLineErrors = (client: ClientDoc): FieldError[] =>
  client.clientId === commandLineId
    ? commandLineFaults(client).map((field) => ({
        field: `/${field}`,
        code: 'built-in',
        message: `the client ${commandLineId} is the command line's, the same in every realm: leave the field out; only ${[...free].join(', ')} may be set`,
      }))
    : []
