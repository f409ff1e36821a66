/** The realm as a resource that wants tokens (RFC 9728 §2), below the issuer and with the well-known part in front. */

import type { Issuers } from '#server/tokens/issuers.ts'
import { publicPreflight } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { knownIssuer, type RealmRoute } from '../issuer.ts'
import { resourceMetadataPath as path } from '../token/bearer.ts'
import { publicJson, rememberPerRealm, sendPublicJson } from './cached-json.ts'
import { jwksPath } from './jwks.ts'
import { scopesOf } from './metadata.ts'

const maxAgeSeconds = 300

const places = [
  ['protected-resource', urlOf(path)],
  ['protected-resource-by-host', `${path}/realms/:realm`],
] as const

const metadataSchema = {
  description: 'The metadata.',
  type: 'object',
  properties: {
    resource: { type: 'string', format: 'uri' },
    authorization_servers: { type: 'array', items: { type: 'string', format: 'uri' } },
  },
  required: ['resource'],
  additionalProperties: true,
} as const

export const protectedResource = ({ issuers }: { readonly issuers: Issuers }): Endpoint => {
  const metadata = rememberPerRealm(async (issuer) =>
    publicJson({
      resource: issuer.url,
      authorization_servers: [issuer.url],
      jwks_uri: `${issuer.url}${jwksPath}`,
      scopes_supported: await scopesOf(issuer),
      bearer_methods_supported: ['header'],
      resource_name: issuer.settings.displayName ?? issuer.name,
    }),
  )
  return {
    path,
    routes: (app) => {
      for (const [name, url] of places) {
        const description = describe({
          operationId: `read-${name}`,
          summary: 'The realm as a protected resource (RFC 9728)',
          replies: { 200: metadataSchema, ...refusals() },
        })
        app.get<RealmRoute>(url, description, async (request, reply) => {
          const issuer = await knownIssuer(issuers, request)
          return sendPublicJson(request, reply, await metadata(issuer), maxAgeSeconds)
        })
        publicPreflight(app, url, 'GET')
      }
    },
  }
}
