/**
 * The redirect URI is one of the client's, byte for byte (RFC 9700 §2.1): it is never parsed, so that no two parsers
 * can disagree about it. A client that opts in may use any port of the loopback interface (RFC 8252 §7.3): native clients
 * listen on one that the system gives them, and those of MCP name it `localhost`.
 */

import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { invalidRequest } from '../../../errors.ts'

const loopback = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/

const withoutPort = (uri: string): string | undefined => {
  const [, origin = '', port = '80', rest = ''] = loopback.exec(uri) ?? []
  return origin === '' || Number(port) > 65_535 ? undefined : `${origin}${rest}`
}

const isRegistered = (
  { redirectUris, loopbackPorts }: Pick<ClientDoc, 'redirectUris' | 'loopbackPorts'>,
  uri: string,
): boolean => {
  if (redirectUris.includes(uri)) return true
  const given = loopbackPorts ? withoutPort(uri) : undefined
  return given !== undefined && redirectUris.some((one) => withoutPort(one) === given)
}

/** One that is not sent is not guessed, even where the client has a single one (CVE-2024-52289). */
export const registeredRedirectUri = ({ doc }: TokenClient, uri: string | undefined): string => {
  if (uri === undefined) throw invalidRequest('the parameter redirect_uri is missing')
  if (!isRegistered(doc, uri)) throw invalidRequest('the redirect_uri is not one of the client')
  return uri
}
