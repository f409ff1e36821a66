/** JSON bodies of the protection API, in a protocol scope that takes forms elsewhere. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { parseJsonBytes } from '#server/http/json.ts'
import { refuseEncoded } from '#server/http/server.ts'
import { textErrors } from '#server/storage/values.ts'
import { invalidRequest } from '../errors.ts'

const ajv = createAjv()
const longestBody = 256 * 1024

/** Lets the scope of `app` take JSON and nothing else. */
export const takeJson = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: longestBody },
    async (request: FastifyRequest, body: Buffer) => {
      refuseEncoded(request)
      return parseJsonBytes(body)
    },
  )
}

/** Reads a body by its schema; the first field that is wrong is named. */
export const jsonReader = <T>(schema: JsonSchema): ((request: FastifyRequest) => T) => {
  const check = lazyValidator(ajv, schema)
  return ({ body }) => {
    const [wrong] = [...check(body), ...textErrors(body)]
    if (wrong) throw invalidRequest(`${wrong.field || 'the body'} ${wrong.message}`)
    return body as T
  }
}
