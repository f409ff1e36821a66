/** A server that stops waits with the end of idle connections while clients still use theirs. */

import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { untilQuiet } from '#server/run/farewell.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const overAfter = async (requests: readonly number[]): Promise<number> => {
  const server = new EventEmitter()
  const begun = Date.now()
  let over = Number.NaN
  void untilQuiet(server as never).then(() => {
    over = Date.now() - begun
  })
  for (const wait of requests) {
    await vi.advanceTimersByTimeAsync(wait)
    server.emit('request')
  }
  await vi.advanceTimersByTimeAsync(5_000)
  expect(server.listenerCount('request')).toBe(0)
  return over
}

it('is over when no request has come for a moment', async () => {
  expect(await overAfter([])).toBe(200)
  expect(await overAfter([150, 150])).toBe(500)
})

it('is over after a second however many requests come', async () => {
  expect(await overAfter(Array(50).fill(100))).toBe(1_000)
})
