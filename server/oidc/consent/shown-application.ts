/**
 * The data of an application on the consent page beside its name: above all the host of the redirect URI (RFC 6749
 * §10.16).
 */

import { logoOf } from '#schemas/rules/clients/client-logo.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { ShownApplication } from '../page-definitions.ts'

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** As ASCII, so that letters of two scripts that look alike do not (UTS #39). None on the user's own device (RFC 8252 §7). */
const hostOf = (redirectUri: string): string | undefined => {
  const url = URL.parse(redirectUri)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  return url && isWeb && !loopback.has(url.hostname) ? url.host : undefined
}

export const shownApplication = (
  { doc }: Pick<TokenClient, 'doc'>,
  redirectUri: string,
): ShownApplication => ({
  host: hostOf(redirectUri),
  logo: logoOf(doc),
  policyUrl: doc.policyUri,
  termsUrl: doc.tosUri,
})
