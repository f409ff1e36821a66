/** Public, cacheable JSON: built once per realm and change, served with an ETag. */

import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '#server/http/etag.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { allowEverybody } from '../cors.ts'

export interface PublicJson {
  /** Text: head and body of the answer leave in one write then. */
  readonly body: string
  readonly etag: string
}

export const publicJson = (value: unknown): PublicJson => {
  const body = JSON.stringify(value)
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` }
}

interface Known {
  readonly createdAt: number
  readonly seq: number
  readonly made: Promise<PublicJson>
}

/** What `make` gives for a realm, until the realm changes. */
export const rememberPerRealm = (
  make: (issuer: Issuer) => Promise<PublicJson>,
): ((issuer: Issuer) => Promise<PublicJson>) => {
  const known = new Map<string, Known>()
  return (issuer) => {
    const { createdAt, seq } = issuer.view
    const before = known.get(issuer.name)
    if (before?.createdAt === createdAt && before.seq === seq) return before.made
    const made = make(issuer)
    known.set(issuer.name, { createdAt, seq, made })
    made.catch(() => known.delete(issuer.name))
    return made
  }
}

export const sendPublicJson = (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { body, etag }: PublicJson,
  maxAgeSeconds: number,
): FastifyReply => {
  allowEverybody(reply)
  reply
    .header('cache-control', `public, max-age=${maxAgeSeconds}`)
    .header('etag', etag)
    .type('application/json; charset=utf-8')
  return isKnown(headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(body)
}
