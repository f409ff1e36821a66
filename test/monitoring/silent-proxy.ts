/**
 * A TCP proxy before PostgreSQL that can stop forwarding, like a cut network: connections are neither refused nor
 * answered.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface SilentProxy {
  readonly url: string
  readonly silence: (silent: boolean) => void
  readonly close: () => Promise<void>
}

export const startSilentProxy = async (target: string): Promise<SilentProxy> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let silent = false
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    if (silent) return
    const upstream = connect(Number(port), hostname)
    sockets.add(upstream)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (data) => {
        if (!silent) to.write(data)
      })
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(target)
  url.port = String(address !== null && typeof address === 'object' ? address.port : 0)
  return {
    url: url.href,
    silence: (now) => {
      silent = now
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
