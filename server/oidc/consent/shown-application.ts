/**
 * The data of an application on the consent page beside its name: above all the host of the redirect URI (RFC 6749
 * §10.16).
 */

import { logoOf } from '#schemas/rules/clients/client-logo.ts'
import type { BoundAgent } from '#server/tokens/agents/agents.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { ShownAgent, ShownApplication } from '../page-definitions.ts'

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** As ASCII, so that letters of two scripts that look alike do not (UTS #39). None on the user's own device (RFC 8252 §7). */
const hostOf = (redirectUri: string): string | undefined => {
  const url = URL.parse(redirectUri)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  return url && isWeb && !loopback.has(url.hostname) ? url.host : undefined
}

/** The host that vouches for a client with a metadata document: its name and logo are what that host says. */
const documentHostOf = ({ clientId, document }: TokenClient): string | undefined =>
  document.origin === 'runtime' && clientId.startsWith('https://')
    ? URL.parse(clientId)?.host
    : undefined

/**
 * Whether any program on the user's device can claim to be the client of this request: no administrator configured it, it proves
 * nothing, and the answer goes to the device itself. Other redirect URIs of the client make no difference: the program chooses
 * the one to ask with. Users are asked each time then (RFC 8252 §8.6, MCP 2026-07-28).
 */
export const isUnproven = ({ doc, document }: TokenClient, redirectUri: string): boolean =>
  document.origin === 'runtime' && doc.publicClient && hostOf(redirectUri) === undefined

export const shownApplication = (client: TokenClient, redirectUri: string): ShownApplication => {
  const { doc } = client
  return {
    host: hostOf(redirectUri),
    documentHost: documentHostOf(client),
    unproven: isUnproven(client, redirectUri),
    logo: logoOf(doc),
    policyUrl: doc.policyUri,
    termsUrl: doc.tosUri,
  }
}

/** Of an application that is an agent: its name, and when it ends by itself. */
export const shownAgent = ({ name, doc }: BoundAgent): ShownAgent => ({
  name,
  description: doc.description,
  until: doc.expiresAt,
})
