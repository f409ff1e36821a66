/**
 * The generator where every answer is slow to come and has no body: the same bytes again and again, and of the answers
 * nothing but their status. It takes less of the machine that it shares than a client that understands what it reads.
 */

import { connect } from 'node:net'
import { type Load, type LoadOptions, type Request, runLoad } from './load.ts'

const bytesOf = (url: URL, { method, path, headers = {}, body = '' }: Request): Buffer => {
  const all = { host: url.host, ...headers, 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

interface Repeater {
  /** Rejects unless the answer has the status, and no body. */
  send(): Promise<void>
  close(): void
}

const repeater = (url: URL, request: Request, status: number): Repeater => {
  const bytes = bytesOf(url, request)
  const start = `HTTP/1.1 ${status} `
  let answered = Promise.withResolvers<void>()
  let read = ''
  const socket = connect({
    host: url.hostname,
    port: Number(url.port),
    noDelay: true,
    onread: {
      buffer: Buffer.alloc(16_384),
      callback: (length, buffer) => {
        read += Buffer.from(buffer.buffer, buffer.byteOffset, length).toString('latin1')
        if (!read.endsWith('\r\n\r\n')) return true
        const isGood = read.startsWith(start) && /\r\ncontent-length: 0\r\n/i.test(read)
        if (isGood) answered.resolve()
        else answered.reject(new Error(`not an empty ${status}: ${read.slice(0, 500)}`))
        read = ''
        return true
      },
    },
  })
  socket.on('error', (error) => answered.reject(error))
  socket.on('close', () => answered.reject(new Error('the connection was closed')))
  return {
    send() {
      answered = Promise.withResolvers()
      socket.write(bytes)
      return answered.promise
    },
    close() {
      answered.promise.catch(() => {})
      socket.destroy()
    },
  }
}

/** As many connections as requests, each of which repeats its own. */
export const repeatLoad = async (
  url: string,
  requests: readonly Request[],
  status: number,
  options: LoadOptions,
): Promise<Load> => {
  const repeaters = requests.map((request) => repeater(new URL(url), request, status))
  try {
    return await runLoad(repeaters.length, options, async (worker) => repeaters[worker]?.send())
  } finally {
    for (const one of repeaters) one.close()
  }
}
