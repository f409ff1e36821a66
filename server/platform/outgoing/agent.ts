/**
 * The HTTP agent of the guarded client: it reads no proxy from the environment and shares no connection. A separate
 * file with a static import: a bundle that imports undici dynamically finds none of its names.
 */

import type { LookupFunction } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { Agent } from 'undici'
import type { ResolvedAddress } from './lookup.ts'

export interface AgentOptions {
  resolve: (hostname: string) => Promise<ResolvedAddress[]>
  timeoutMs: number
  ca: readonly string[]
  /** Shown to servers that ask for a certificate, in PEM. */
  client?: { readonly key: string; readonly certificate: string } | undefined
}

export function createAgent({ resolve, timeoutMs, ca, client }: AgentOptions): Agent {
  const lookup: LookupFunction = (hostname, options, callback) => {
    const give = (addresses: ResolvedAddress[]): void => {
      const [first] = addresses
      if (options.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    }
    resolve(hostname).then(give, (error) => callback(error, []))
  }
  const secureContext = createSecureContext({
    minVersion: 'TLSv1.2',
    ...(client && { key: client.key, cert: client.certificate }),
    ...(ca.length > 0 && { ca: [...getCACertificates('default'), ...ca] }),
  })
  return new Agent({
    // HTTP/2 brings nothing for single requests, and its own ways to be flooded.
    allowH2: false,
    connections: 32,
    keepAliveMaxTimeout: 30_000,
    // The time limit of the request covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED does not count here.
    connect: { lookup, secureContext, rejectUnauthorized: true, timeout: timeoutMs },
  })
}
