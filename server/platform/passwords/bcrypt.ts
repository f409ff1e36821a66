/** bcrypt in a thread of its own, which is started by the first hash that asks for it and only then. */

import { createThreadCalls } from '../threads/thread-calls.ts'
import { threadEntry } from '../threads/thread-entry.ts'
import type { Comparison } from './bcrypt-thread.ts'

export interface Bcrypt {
  verify(hash: string, password: string): Promise<boolean>
  close(): Promise<void>
}

export const createBcrypt = (): Bcrypt => {
  const { call, close } = createThreadCalls<Comparison, boolean>({
    entry: threadEntry(import.meta.url, './bcrypt-thread.ts', 'bcrypt.js'),
    name: 'bcrypt',
    size: 1,
  })
  return { verify: (hash, password) => call({ hash, password }), close }
}
