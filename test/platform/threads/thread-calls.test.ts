/** Calls into threads: each gets its own answer, also if other calls of the same batch fail. */
import { constants, getPriority, platform } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { createThreadCalls, type ThreadCalls } from '#server/platform/threads/thread-calls.ts'
import type { Told } from './asked-thread.ts'

const opened: ThreadCalls<string, Told>[] = []

const openCalls = (size: number, most: number, ahead = 0): ThreadCalls<string, Told> => {
  const entry = new URL('./asked-thread.ts', import.meta.url)
  const calls = createThreadCalls<string, Told>({ entry, name: 'asked', size, most, ahead })
  opened.push(calls)
  return calls
}

afterEach(async () => {
  for (const calls of opened.splice(0)) await calls.close()
})

const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => String(i))

describe('calls into threads', () => {
  it.each([
    { size: 1, most: 1, ahead: 0 },
    { size: 1, most: 8, ahead: 0 },
    { size: 2, most: 8, ahead: 0 },
    { size: 2, most: 8, ahead: 1 },
    { size: 1, most: 2, ahead: 3 },
  ])(
    'give everybody the own answer: $size threads, $most at once, $ahead ahead',
    async ({ size, most, ahead }) => {
      const { call } = openCalls(size, most, ahead)
      const answers = await Promise.all(numbers(50).map(call))
      expect(answers.map(({ question }) => question)).toEqual(numbers(50))
    },
  )

  it('share what comes in one turn among the threads', async () => {
    const { call } = openCalls(2, 8)
    const answers = await Promise.all(numbers(8).map(call))
    expect(new Set(answers.map(({ threadId }) => threadId)).size).toBe(2)
  })

  it('start one thread for one call', async () => {
    const { call } = openCalls(2, 8)
    const first = await call('first')
    const second = await call('second')
    expect(second.threadId).toBe(first.threadId)
  })

  it('fail alone', async () => {
    const { call } = openCalls(1, 8)
    const settled = await Promise.allSettled(['before', 'fail', 'after'].map(call))
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expect(call('fail')).rejects.toThrow('as it was asked to')
  })

  it('are told when their thread ends, and the next ones have another', async () => {
    const { call } = openCalls(1, 8)
    const { threadId } = await call('before')
    const lost = await Promise.allSettled(['with it', 'die', 'behind it'].map(call))
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await expect(call('die')).rejects.toThrow('the thread asked has ended')
    expect((await call('afterwards')).threadId).toBeGreaterThan(threadId)
  })

  it('are told when their thread ends before it comes to them', async () => {
    const { call } = openCalls(1, 1, 2)
    await call('before')
    const lost = await Promise.allSettled(['die', 'given ahead', 'given ahead too'].map(call))
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect((await call('afterwards')).question).toBe('afterwards')
  })

  it.runIf(platform() === 'linux')(
    'run behind the event loop, which stays where it is',
    async () => {
      const before = getPriority()
      const { priority } = await openCalls(1, 1).call('who')
      expect(priority).toBe(constants.priority.PRIORITY_BELOW_NORMAL)
      expect(getPriority()).toBe(before)
    },
  )
})
