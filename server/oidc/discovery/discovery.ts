/**
 * Metadata of the issuer: OIDC Discovery §4 and RFC 8414 §3, below the issuer and, as RFC 8414 §3.1 and RFC 8615 have
 * it, with the well-known part in front of the issuer's path.
 */

import type { Issuers } from '#server/tokens/issuers.ts'
import { publicPreflight } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { knownIssuer, type RealmRoute } from '../issuer.ts'
import { publicJson, rememberPerRealm, sendPublicJson } from './cached-json.ts'
import { type Lists, metadataOf, metadataSchema } from './metadata.ts'

const maxAgeSeconds = 300

const places = [
  ['openid-configuration', urlOf('/.well-known/openid-configuration')],
  ['openid-configuration-by-host', '/.well-known/openid-configuration/realms/:realm'],
  ['authorization-server', urlOf('/.well-known/oauth-authorization-server')],
  ['authorization-server-by-host', '/.well-known/oauth-authorization-server/realms/:realm'],
] as const

/** `lists` is asked for late: this endpoint is in one of them. */
export const discovery = (
  { issuers }: { readonly issuers: Issuers },
  lists: () => Lists,
): Endpoint => {
  const metadata = rememberPerRealm(async (issuer) => publicJson(await metadataOf(issuer, lists())))
  return {
    path: '/.well-known/openid-configuration',
    routes: (app) => {
      for (const [name, url] of places) {
        const description = describe({
          operationId: `read-${name}`,
          summary: 'Metadata of the realm as an issuer',
          replies: { 200: metadataSchema, ...refusals() },
        })
        app.get<RealmRoute>(url, description, async (request, reply) => {
          const issuer = await knownIssuer(issuers, request)
          return sendPublicJson(request, reply, await metadata(issuer), maxAgeSeconds)
        })
        publicPreflight(app, url, 'GET')
      }
    },
  }
}
