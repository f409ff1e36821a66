/**
 * Sends requests that are refused, in a thread: beside them the generator of a load would wait for itself, and the times of that
 * load would be its own.
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type Request, sendLoad } from './load.ts'

interface Garbage {
  readonly url: string
  readonly request: Request
  readonly status: number
  readonly connections: number
  /** How many in all. */
  readonly most: number
}

/** Of the range for benchmarks (RFC 2544): limits count by address. */
const anyAddress = (): string => `198.${randomInt(18, 20)}.${randomInt(256)}.${randomInt(256)}`

/** Evenly: connections that begin together would send together every second. */
const send = ({ url, request, status, connections, most }: Garbage): Promise<unknown> =>
  sendLoad(url, connections, { ms: Number.POSITIVE_INFINITY, most }, async (connection, begun) => {
    if (begun < connections) await setTimeout((begun * 1000) / connections)
    const headers = { ...request.headers, 'x-forwarded-for': anyAddress() }
    await connection.send({ ...request, headers }, status)
  })

/** Strangers have processors of their own: here they get what the server and its callers leave. Linux only. */
const giveWay = (): void => {
  if (process.platform !== 'linux') return
  const [thread = ''] = /\d+$/.exec(readlinkSync('/proc/thread-self')) ?? []
  setPriority(Number(thread), constants.priority.PRIORITY_LOW)
}

/** Once the thread has begun; `ended` is that of its last answer. */
export const startGarbage = async (garbage: Garbage): Promise<{ ended: Promise<unknown> }> => {
  const thread = new Worker(new URL(import.meta.url), { workerData: garbage })
  await once(thread, 'message')
  return { ended: once(thread, 'exit') }
}

if (!isMainThread) {
  giveWay()
  parentPort?.postMessage('begins')
  await send(workerData)
}
