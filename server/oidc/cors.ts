/**
 * Cross-origin requests. Metadata and keys are public. Elsewhere the origin must be one of the web origins of the
 * authenticated client; an origin is never reflected from the request alone
 * (CVE-2026-37977). Cookies never count, and are allowed for keycloak-js alone (`allowCookiesOf`). Introspection and CIBA refuse public
 * clients, so that no page has a reason to call them: they answer no preflight (test/oidc/discovery/cors.test.ts has the table).
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Client, type ClientDoc } from '#schemas/kinds/clients/client.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import type { RealmRoute } from './issuer.ts'

const allowOriginHeader = 'access-control-allow-origin'
const takenHeaders = 'authorization, content-type, dpop'
const shownHeaders = 'www-authenticate, dpop-nonce'
const preflightSeconds = '600'

export const allowEverybody = (reply: FastifyReply): void => {
  reply.header(allowOriginHeader, '*')
}

/** Lets the page read the answer, where it is from an origin of the client; to be called once the client is known. */
export const allowOriginOf = (
  { doc }: TokenClient,
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
): void => {
  if (origin === undefined) return
  reply.header('vary', 'Origin')
  if (doc.webOrigins.includes(origin))
    reply.header(allowOriginHeader, origin).header('access-control-expose-headers', shownHeaders)
}

/**
 * keycloak-js asks for tokens with `credentials: 'include'`, whose answer a page may read only with this header (Fetch §3.3.5). The
 * token endpoint reads no cookie and sets none: the answer is the same without. To be called after `allowOriginOf`.
 */
export const allowCookiesOf = ({ settings }: Issuer, reply: FastifyReply): void => {
  if (settings.keycloakPaths && reply.hasHeader(allowOriginHeader))
    reply.header('access-control-allow-credentials', 'true')
}

interface Known {
  readonly createdAt: number
  readonly seq: number
  readonly origins: Promise<ReadonlySet<string>>
}

const readOrigins = async ({ view }: Issuer): Promise<ReadonlySet<string>> => {
  const origins = new Set<string>()
  for (const document of await view.list(Client.kind)) {
    const { enabled, webOrigins } = contentOf<ClientDoc>(document)
    if (enabled) for (const origin of webOrigins) origins.add(origin)
  }
  return origins
}

/** All web origins of a realm's clients, read once until the realm changes. */
const createOrigins = (): ((issuer: Issuer) => Promise<ReadonlySet<string>>) => {
  const known = new Map<string, Known>()
  return (issuer) => {
    const { createdAt, seq } = issuer.view
    const before = known.get(issuer.name)
    if (before?.createdAt === createdAt && before.seq === seq) return before.origins
    const origins = readOrigins(issuer)
    known.set(issuer.name, { createdAt, seq, origins })
    origins.catch(() => known.delete(issuer.name))
    return origins
  }
}

export type Preflights = (app: FastifyInstance, url: string, methods: string) => void

/** A preflight names no client: any client's origin may go on, and is judged by its own client then. */
export const createPreflights = (issuers: Issuers): Preflights => {
  const originsOf = createOrigins()
  return (app, url, methods) =>
    app.options<RealmRoute>(url, async (request, reply) => {
      const { origin } = request.headers
      const issuer = await issuers.known(request.params.realm)
      reply.code(204).header('vary', 'Origin')
      if (origin !== undefined && issuer && (await originsOf(issuer)).has(origin))
        allowPreflight(reply, origin, methods)
      return reply.send()
    })
}

/** For public resources, with any header: MCP clients name their version, and tracing adds its own to every request of a page. */
export const publicPreflight: Preflights = (app, url, methods) => {
  app.options(url, async (_request, reply) => {
    allowPreflight(reply, '*', methods, `${takenHeaders}, *`)
    return reply.code(204).send()
  })
}

const allowPreflight = (
  reply: FastifyReply,
  origin: string,
  methods: string,
  headers = takenHeaders,
): void => {
  reply.headers({
    [allowOriginHeader]: origin,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': headers,
    'access-control-max-age': preflightSeconds,
  })
}
