/**
 * The admin API as a protected resource (RFC 9728): its identifier, its authorization server, and the challenge that names
 * the metadata (§5.1). Realms also issue tokens for their own administration; the metadata does not list them.
 */

import type { FastifyInstance } from 'fastify'
import { planScope } from '#schemas/access/admin-access.ts'
import { publicPreflight } from '#server/oidc/cors.ts'
import { describe } from '#server/oidc/description.ts'
import { publicJson, sendPublicJson } from '#server/oidc/discovery/cached-json.ts'
import { dpopAlgorithms } from '#server/oidc/vocabulary.ts'
import { adminAudience } from '#server/tokens/access/audience.ts'

export interface AdminResource {
  readonly baseUrl: string
  readonly master: string
}

const maxAgeSeconds = 300
const path = '/.well-known/oauth-protected-resource/admin'

/** As the parameter of a challenge. */
export const adminMetadata = ({ baseUrl }: Pick<AdminResource, 'baseUrl'>): string =>
  `resource_metadata="${baseUrl}${path}"`

const metadataSchema = {
  description: 'The metadata.',
  type: 'object',
  properties: { resource: { type: 'string', format: 'uri' } },
  required: ['resource'],
  additionalProperties: true,
} as const

export const adminResourceRoutes =
  (resource: AdminResource) =>
  async (app: FastifyInstance): Promise<void> => {
    const { baseUrl, master } = resource
    const metadata = publicJson({
      resource: adminAudience(baseUrl),
      authorization_servers: [`${baseUrl}/realms/${master}`],
      scopes_supported: [planScope],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: dpopAlgorithms,
      resource_name: 'The admin API',
      resource_documentation: `${baseUrl}/interactive-docs.html`,
    })
    const description = describe({
      operationId: 'read-protected-resource-admin',
      summary: 'The authorization server of the admin API (RFC 9728)',
      replies: { 200: metadataSchema },
    })
    app.get(path, description, (request, reply) =>
      sendPublicJson(request, reply, metadata, maxAgeSeconds),
    )
    publicPreflight(app, path, 'GET')
  }
