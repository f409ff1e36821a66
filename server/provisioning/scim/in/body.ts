/** Bodies of SCIM: JSON in UTF-8 as `application/scim+json` or `application/json`, each name once (RFC 7644 §3.1, §8.1). */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Problem } from '#schemas/problems.ts'
import { parseJsonBytes } from '#server/http/json.ts'
import { refuseEncoded } from '#server/http/server.ts'
import { mediaType } from './errors.ts'

export const maxBody = 1024 * 1024

/** JSON is UTF-8 (RFC 8259 §8.1): another charset would be stored as wrong names. */
const refuseCharset = ({ headers }: FastifyRequest): void => {
  const [, charset] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '') ?? []
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new Problem('unsupported-media-type', 'Send the body in UTF-8.')
}

export const takeScimBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    [mediaType, 'application/json'],
    { parseAs: 'buffer', bodyLimit: maxBody },
    async (request: FastifyRequest, body: Buffer) => {
      refuseEncoded(request)
      refuseCharset(request)
      return parseJsonBytes(body)
    },
  )
}
