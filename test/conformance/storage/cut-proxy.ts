/** A TCP proxy before PostgreSQL that cuts a connection when the client sends a certain text. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface Cut {
  readonly text: string
  /** Before the server gets the text, or after it has answered but before the client gets that answer. */
  readonly when: 'before' | 'after'
}

export interface CutProxy {
  readonly url: string
  /** Cuts the next connection that sends the text, once. */
  readonly cutNext: (cut: Cut) => void
  /** How many connections were cut. */
  readonly cuts: () => number
  readonly close: () => Promise<void>
}

export const startCutProxy = async (target: string): Promise<CutProxy> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let armed: Cut | undefined
  let cuts = 0

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let swallow = false
    const end = (): void => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', end)
    }
    client.on('data', (data) => {
      if (armed !== undefined && data.includes(armed.text)) {
        const { when } = armed
        armed = undefined
        cuts += 1
        if (when === 'before') return end()
        swallow = true
      }
      upstream.write(data)
    })
    upstream.on('data', (data) => {
      if (swallow) end()
      else client.write(data)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(target)
  url.port = String(address !== null && typeof address === 'object' ? address.port : 0)
  return {
    url: url.href,
    cutNext: (cut) => {
      armed = cut
    },
    cuts: () => cuts,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
