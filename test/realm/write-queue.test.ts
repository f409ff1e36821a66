/** Writes to one realm queue up; those behind one that meets an unavailable storage do not wait for it in turn. */

import { expect, it } from 'vitest'
import { createQueue } from '#server/realm/write/queue.ts'
import { StorageUnavailableError } from '#server/storage/contract.ts'

it('a task that meets an unavailable storage ends those that wait for it, and no other', async () => {
  const queue = createQueue()
  const away = new StorageUnavailableError('away')
  const begun: string[] = []
  const task = (name: string, work: () => Promise<unknown>) => async (): Promise<unknown> => {
    begun.push(name)
    return work()
  }
  const fails = (error: Error) => () => Promise.reject(error)
  const succeeds = (value: string) => () => Promise.resolve(value)
  const { promise, reject } = Promise.withResolvers<never>()
  const tasks = [
    queue('a', task('refused', fails(new Error('refused')))),
    queue(
      'a',
      task('away', () => promise),
    ),
    queue('a', task('behind', succeeds('done'))),
    queue('b', task('elsewhere', succeeds('done'))),
  ]
  const settled = Promise.allSettled(tasks)
  await tasks[3]
  reject(away)
  expect(await settled).toEqual([
    { status: 'rejected', reason: new Error('refused') },
    { status: 'rejected', reason: away },
    { status: 'rejected', reason: away },
    { status: 'fulfilled', value: 'done' },
  ])
  expect(await queue('a', task('after', succeeds('done')))).toBe('done')
  expect(begun).toEqual(['refused', 'elsewhere', 'away', 'after'])
})
