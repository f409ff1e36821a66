/** The public keys of a realm (RFC 7517 §5): the active one, the next one, and those that signed before. */

import type { RealmKeySet } from '#server/keys/realm-keys.ts'
import { createPublishedKeys, type PublishedKeysParts } from '#server/tokens/published-keys.ts'
import { publicPreflight } from '../cors.ts'
import { describe, refusals } from '../description.ts'
import { type Endpoint, urlOf } from '../endpoint.ts'
import { knownIssuer, type RealmRoute } from '../issuer.ts'
import { type PublicJson, publicJson, sendPublicJson } from './cached-json.ts'

/** Short, because a cache in front of us delays the first day of a new key by as much. */
const maxAgeSeconds = 60

export const jwksPath = '/.well-known/jwks.json'

const keySetSchema = {
  description: 'The key set.',
  type: 'object',
  properties: {
    keys: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          kty: { type: 'string' },
          kid: { type: 'string' },
          use: { type: 'string' },
        },
        required: ['kty', 'kid'],
        additionalProperties: true,
      },
    },
  },
  required: ['keys'],
} as const

export const jwks = (parts: PublishedKeysParts): Endpoint => {
  const { issuers } = parts
  const publishedKeys = createPublishedKeys(parts)
  const made = new WeakMap<RealmKeySet, PublicJson>()
  const bytesOf = (keys: RealmKeySet): PublicJson => {
    const before = made.get(keys)
    if (before) return before
    const json = publicJson({ keys: keys.all.map(({ jwk }) => jwk) })
    made.set(keys, json)
    return json
  }
  return {
    path: jwksPath,
    member: 'jwks_uri',
    routes: (app) => {
      const description = describe({
        operationId: 'read-jwks',
        summary: 'The public keys that the realm signs with',
        replies: { 200: keySetSchema, ...refusals() },
      })
      app.get<RealmRoute>(urlOf(jwksPath), description, async (request, reply) => {
        const keys = await publishedKeys(await knownIssuer(issuers, request))
        return sendPublicJson(request, reply, bytesOf(keys), maxAgeSeconds)
      })
      publicPreflight(app, urlOf(jwksPath), 'GET')
    },
  }
}
