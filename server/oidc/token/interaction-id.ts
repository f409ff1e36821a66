/**
 * The header that relates the logs of a client to those of a resource (FAPI 1.0 Baseline §6.2.1-11): a UUID in the request is answered
 * as it is, whatever the answer says; anything else is not reflected. A FAPI client that sends none is answered with a new one.
 */

import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isFapi } from '#schemas/access/client-profile.ts'
import { isUuid } from '#server/platform/ids.ts'
import type { TokenClient } from '#server/tokens/client.ts'

const header = 'x-fapi-interaction-id'

export const repeatInteractionId = (request: FastifyRequest, reply: FastifyReply): void => {
  const sent = request.headers[header]
  if (typeof sent === 'string' && isUuid(sent)) reply.header(header, sent)
}

export const giveInteractionId = ({ doc }: TokenClient, reply: FastifyReply): void => {
  if (isFapi(doc) && !reply.hasHeader(header)) reply.header(header, randomUUID())
}
