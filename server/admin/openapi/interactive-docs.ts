/**
 * `/interactive-docs.html`: the API description to look through, and to try reads with the session of the browser.
 * Everything that it loads comes from this server: the content security policy allows nothing else, and text never
 * becomes markup.
 */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '#server/http/etag.ts'
import { documentHeaders } from '#server/http/headers.ts'
import { pageReply } from '#server/http/pages/page-reply.ts'
import { findTemplates } from '#server/http/pages/pages.ts'

interface Served {
  readonly bytes: Buffer
  readonly etag: string
  readonly type: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const load = (file: string): Served => {
  const bytes = readFileSync(file)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { bytes, etag, type: types[extname(file)] ?? 'application/octet-stream' }
}

/** Kept by browsers, but asked for again: the names stay the same from release to release. */
const send = (
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { bytes, etag, type }: Served,
): FastifyReply => {
  reply.header('cache-control', 'no-cache').header('etag', etag).type(type)
  return isKnown(headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(bytes)
}

export const interactiveDocs: FastifyPluginCallback = (app, _options, done) => {
  const folder = join(findTemplates(), '..', 'docs')
  const page = load(join(folder, 'page.html'))
  const assets = new Map(
    readdirSync(join(folder, 'assets')).map((file) => [file, load(join(folder, 'assets', file))]),
  )
  app.get(
    '/interactive-docs.html',
    {
      schema: {
        operationId: 'show-interactive-docs',
        summary: 'This description as a page',
        tags: ['description'],
        response: {
          200: pageReply('The page.'),
        },
      },
    },
    (request, reply) =>
      send(request, reply.headers(documentHeaders).header('content-security-policy', policy), page),
  )
  app.get<{ Params: { file: string } }>('/interactive-docs/:file', (request, reply) => {
    const asset = assets.get(request.params.file)
    return asset ? send(request, reply, asset) : reply.callNotFound()
  })
  done()
}
