/**
 * The page that keycloak-js frames before it asks silently who is signed in (`silentCheckSsoRedirectUri`, `checkLoginIframe`), for realms
 * with `keycloakPaths`. Without it `init` fails after ten seconds. The page says that cookies do not reach frames: session cookies are
 * SameSite=Lax, and no session iframe is served. keycloak-js then asks by a redirect with `prompt=none`.
 */

import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Issuers } from '../issuers.ts'
import { issuerPath, onlyWithKeycloakPaths } from './paths.ts'

const path = '/protocol/openid-connect/3p-cookies/step1.html'
/** For any page: it is the same for every realm, browser and user. */
const script = "parent.postMessage('unsupported', '*')"
const scriptHash = createHash('sha256').update(script).digest('base64')
const policy = `default-src 'none'; script-src 'sha256-${scriptHash}'`

export const addCookieCheck = (app: FastifyInstance, issuers: Pick<Issuers, 'known'>): void => {
  const options = { onRequest: onlyWithKeycloakPaths(issuers), config: { untold: true as const } }
  app.get(`${issuerPath}${path}`, options, (_request, reply) =>
    reply
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send(`<!doctype html><title>Cookies</title><script>${script}</script>`),
  )
}
