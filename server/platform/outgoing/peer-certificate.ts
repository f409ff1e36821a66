/** The certificate that a server shows. Whether it is trusted is for requests to decide: here it is read, and nothing is sent. */

import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { canonicalHost } from './addresses.ts'
import type { Outgoing } from './client.ts'
import { dial } from './dial.ts'
import { OutgoingError } from './errors.ts'

export interface PeerCertificate {
  readonly host: string
  /** In epoch milliseconds. */
  readonly expiresAt: number
}

const timeoutMs = 5000

/** Undefined for an address without TLS, and where the server shows no certificate. */
export const peerCertificate = async (
  outgoing: Pick<Outgoing, 'resolve'>,
  url: string,
): Promise<PeerCertificate | undefined> => {
  const { protocol, hostname, port, host } = new URL(url)
  if (protocol !== 'https:') return undefined
  const name = canonicalHost(hostname)
  try {
    const socket = await dial(outgoing, { host: name, port: Number(port || 443), timeoutMs })
    const servername = isIP(name) === 0 ? { servername: name } : {}
    const secure = connect({ socket, ...servername, rejectUnauthorized: false })
    try {
      await once(secure, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) })
      const expiresAt = Date.parse(secure.getPeerCertificate().valid_to)
      return Number.isNaN(expiresAt) ? undefined : { host, expiresAt }
    } finally {
      secure.on('error', () => undefined)
      secure.destroy()
    }
  } catch (error) {
    if (error instanceof OutgoingError || (error instanceof Error && 'code' in error))
      return undefined
    throw error
  }
}
