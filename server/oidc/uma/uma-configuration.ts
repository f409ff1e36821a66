/** UMA 2.0 metadata (Grant §2, Federated Authorization §2): where a realm's protection API is. */

import type { Issuers } from '#server/tokens/issuers.ts'
import { publicPreflight } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import { publicJson, rememberPerRealm, sendPublicJson } from '../discovery/cached-json.ts'
import { type Lists, metadataOf, metadataSchema } from '../discovery/metadata.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { knownIssuer, type RealmRoute } from '../issuer.ts'

const path = '/.well-known/uma2-configuration'
const maxAgeSeconds = 300

/** Its path below the issuer, by its member. */
const protectionPaths = {
  resource_registration_endpoint: '/authz/protection/resource_set',
  permission_endpoint: '/authz/protection/permission',
} as const

/** `lists` is asked for late: this endpoint is in one of them. */
export const umaConfiguration = (
  { issuers }: { readonly issuers: Issuers },
  lists: () => Lists,
): Endpoint => {
  const metadata = rememberPerRealm(async (issuer) =>
    publicJson({
      ...(await metadataOf(issuer, lists())),
      ...Object.fromEntries(
        Object.entries(protectionPaths).map(([member, at]) => [member, `${issuer.url}${at}`]),
      ),
    }),
  )
  return {
    path,
    routes: (app) => {
      const description = describe({
        operationId: 'read-uma2-configuration',
        summary: 'Where the protection API of the realm is (UMA 2.0)',
        replies: { 200: metadataSchema, ...refusals() },
      })
      app.get<RealmRoute>(urlOf(path), description, async (request, reply) => {
        const issuer = await knownIssuer(issuers, request)
        return sendPublicJson(request, reply, await metadata(issuer), maxAgeSeconds)
      })
      publicPreflight(app, urlOf(path), 'GET')
    },
  }
}
