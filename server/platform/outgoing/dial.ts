/**
 * Connections of protocols that are no HTTP/1 requests. The guard of outgoing requests resolves the name and checks every
 * address; what is dialled is one of those addresses, so no later answer of a name server counts.
 */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Outgoing } from './client.ts'
import { OutgoingError } from './errors.ts'

const open = async (host: string, port: number, timeoutMs: number): Promise<Socket> => {
  const socket = connect({ host, port })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) })
    return socket
  } catch (error) {
    socket.on('error', () => undefined)
    socket.destroy()
    throw error
  }
}

/** Throws an OutgoingError. */
export const dial = async (
  outgoing: Pick<Outgoing, 'resolve'>,
  { host, port, timeoutMs }: { host: string; port: number; timeoutMs: number },
): Promise<Socket> => {
  const addresses = await outgoing.resolve(host)
  let code = 'failed'
  for (const { address } of addresses)
    try {
      return await open(address, port, timeoutMs)
    } catch (error) {
      code = error instanceof Error && 'code' in error ? String(error.code) : code
    }
  if (code === 'ABORT_ERR') throw new OutgoingError('outgoing.timeout', host, 'no answer in time')
  throw new OutgoingError('outgoing.network', host, `the connection failed (${code})`)
}
