/** Checks of a URL without network access: its form, its scheme, a literal address. */

import { isIP } from 'node:net'
import { type AllowedTargets, addressProblem, canonicalHost } from './addresses.ts'
import { OutgoingError } from './errors.ts'

export type Scheme = 'https' | 'http'

export interface UrlRules {
  schemes: readonly Scheme[]
  allowed: AllowedTargets
}

const MAX_LENGTH = 2048
const STRICT: UrlRules = { schemes: ['https'], allowed: { hosts: new Set(), ranges: [] } }

/** Throws an OutgoingError; by default it takes https and public hosts only. */
export function checkUrl(text: string, rules: UrlRules = STRICT): URL {
  const url = text.length > MAX_LENGTH ? null : URL.parse(text)
  if (url === null || url.hostname === '') {
    throw new OutgoingError('outgoing.url', '', 'the text is not a URL with a host')
  }
  if (!rules.schemes.some((scheme) => url.protocol === `${scheme}:`)) {
    const schemes = rules.schemes.join(' or ')
    throw new OutgoingError('outgoing.scheme', url.host, `the URL must begin with ${schemes}`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutgoingError('outgoing.url', url.host, 'the URL must not hold a user or password')
  }
  // The parser has already turned decimal, octal, hexadecimal and short IPv4 forms into plain ones.
  const host = canonicalHost(url.hostname)
  const problem = hostProblem(host, rules.allowed)
  if (problem !== undefined) {
    throw new OutgoingError('outgoing.address', url.host, `${problem} is not allowed`)
  }
  return url
}

function hostProblem(host: string, allowed: AllowedTargets): string | undefined {
  if (allowed.hosts.has(host)) return undefined
  if (isIP(host) !== 0) return addressProblem(host, allowed)
  // RFC 6761 §6.3: such a name is this machine, whatever a resolver says.
  const isLocal = host === 'localhost' || host.endsWith('.localhost')
  return isLocal ? addressProblem('127.0.0.1', allowed) : undefined
}
