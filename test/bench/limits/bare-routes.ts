/**
 * The limit that reads of the issuer are compared with: a bare Fastify route that takes a form or nothing and answers as
 * many bytes of JSON as the path asks for (`/bytes/900`), with the headers that it was told by PUT. It prints its address on
 * stderr.
 */

import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { type GivenHeaders, givenHeaders } from './same-headers.ts'

interface Asked {
  Params: { readonly count: string }
}

const app = fastify()
app.addContentTypeParser(
  'application/x-www-form-urlencoded',
  { parseAs: 'string' },
  (_request, body, done) => done(null, body),
)

const answers = new Map<string, string>()
let headers: GivenHeaders = {}

const answer = async (
  { params: { count } }: FastifyRequest<Asked>,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const text = answers.get(count) ?? JSON.stringify({ pad: 'x'.repeat(Number(count) - 10) })
  answers.set(count, text)
  return reply.headers(headers).send(text)
}

app.put<{ Body: string }>('/headers', async ({ body }) => {
  headers = givenHeaders(body)
  return {}
})
app.get<Asked>('/bytes/:count', answer)
app.post<Asked>('/bytes/:count', answer)
process.stderr.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
