/** Bodies of SCIM: JSON in UTF-8 as `application/scim+json` or `application/json`, each name once (RFC 7644 §3.1, §8.1). */

import type { FastifyInstance } from 'fastify'
import { parseJsonBytes } from '#server/http/json.ts'
import { refuseEncoded } from '#server/http/server.ts'
import { mediaType } from './errors.ts'

export const maxBody = 1024 * 1024

export const takeScimBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    [mediaType, 'application/json'],
    { parseAs: 'buffer', bodyLimit: maxBody },
    async (request: Parameters<typeof refuseEncoded>[0], body: Buffer) => {
      refuseEncoded(request)
      return parseJsonBytes(body)
    },
  )
}
