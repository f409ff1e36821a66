/**
 * `GET /realms/{realm}/broker/{alias}/metadata`: the realm's metadata as the service provider of a SAML identity provider,
 * for its operator to register.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import { problemReply } from '#server/http/problem-schema.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { UpstreamRefused } from './protocol.ts'

interface MetadataRoute {
  Params: { realm: string; alias: string }
}

export interface MetadataRouteParts {
  readonly issuers: Pick<Issuers, 'fresh'>
  readonly describe: (issuer: Issuer, alias: string) => Promise<string | undefined>
}

const description = {
  schema: {
    operationId: 'read-broker-metadata',
    summary: 'The metadata of the realm as a service provider of a SAML identity provider, signed',
    tags: ['saml'],
    response: {
      200: {
        description: 'An EntityDescriptor.',
        content: { 'application/samlmetadata+xml': { schema: { type: 'string' } } },
      },
      404: problemReply('There is no such provider, or its protocol has no metadata.'),
    },
  },
}

const notFound = (): Problem =>
  new Problem('not-found', 'There is no such identity provider, or its protocol has no metadata.')

export const metadataRoute =
  ({ issuers, describe }: MetadataRouteParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const read = async ({ params }: FastifyRequest<MetadataRoute>): Promise<string> => {
      const issuer = await issuers.fresh(params.realm)
      try {
        const xml = issuer && (await describe(issuer, params.alias))
        if (xml !== undefined) return xml
      } catch (error) {
        // A key of the document that cannot be read: doctor names it.
        if (!(error instanceof UpstreamRefused)) throw error
      }
      throw notFound()
    }
    app.get<MetadataRoute>(
      '/realms/:realm/broker/:alias/metadata',
      description,
      async (request, reply) =>
        reply
          .type('application/samlmetadata+xml')
          .header('cache-control', 'public, max-age=60')
          .send(await read(request)),
    )
  }
