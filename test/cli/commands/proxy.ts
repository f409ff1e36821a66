/** A stand-in between the CLI and a server, which can hold requests, answer them itself, and cut connections. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Proxy {
  readonly url: string
  /** Ends every connection, in the middle of whatever it is in. */
  readonly cut: () => void
}

/** `look` may wait, or answer; what it leaves is passed on. */
export const startProxy = async (
  server: string,
  look: (incoming: IncomingMessage, answer: ServerResponse) => Promise<void> | void,
): Promise<Proxy> => {
  const { hostname: host, port } = new URL(server)
  const forward = async (incoming: IncomingMessage, answer: ServerResponse): Promise<void> => {
    await look(incoming, answer)
    if (answer.writableEnded) return
    const { method, url: path, headers } = incoming
    const onward = request({ method, path, headers, host, port }, (reply) => {
      answer.writeHead(reply.statusCode ?? 500, reply.headers)
      answer.flushHeaders()
      reply.on('error', () => answer.destroy())
      reply.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    answer.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }
  const proxy = createServer((incoming, answer) => void forward(incoming, answer))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut: () => proxy.closeAllConnections(),
  }
}
