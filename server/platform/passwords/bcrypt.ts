/** bcrypt in a thread of its own, which is started by the first hash that asks for it and only then. */

import { Worker } from 'node:worker_threads'
import { threadEntry } from '../thread-entry.ts'
import type { Question, Verdict } from './bcrypt-thread.ts'

export interface Bcrypt {
  verify(hash: string, password: string): Promise<boolean>
  close(): Promise<void>
}

export const createBcrypt = (): Bcrypt => {
  const waiting = new Map<number, PromiseWithResolvers<boolean>>()
  let worker: Worker | undefined
  let lastId = 0

  const start = (): Worker => {
    const started = new Worker(threadEntry(import.meta.url, './bcrypt-thread.ts', 'bcrypt.js'), {
      name: 'bcrypt',
    })
    // It must not keep a process alive that has nothing else to do.
    started.unref()
    let cause: unknown
    started.on('message', ({ id, matches }: Verdict) => {
      waiting.get(id)?.resolve(matches)
      waiting.delete(id)
    })
    started.on('error', (error) => {
      cause = error
    })
    started.on('exit', () => {
      worker = undefined
      for (const { reject } of waiting.values())
        reject(new Error('the bcrypt thread has ended', { cause }))
      waiting.clear()
    })
    return started
  }

  return {
    verify(hash, password) {
      worker ??= start()
      lastId += 1
      const verdict = Promise.withResolvers<boolean>()
      waiting.set(lastId, verdict)
      const question: Question = { id: lastId, hash, password }
      worker.postMessage(question)
      return verdict.promise
    },
    async close() {
      await worker?.terminate()
    },
  }
}
