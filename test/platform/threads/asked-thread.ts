/** The thread of thread-calls.test.ts: it answers its id, or does what the call says. */

import { getPriority } from 'node:os'
import { threadId } from 'node:worker_threads'
import { answerCalls } from '#server/platform/threads/thread-answers.ts'

export interface Told {
  readonly question: string
  readonly threadId: number
  readonly priority: number
}

answerCalls('passwords', (question: string): Told => {
  if (question === 'fail') throw new Error('as it was asked to')
  if (question === 'die') process.exit(3)
  return { question, threadId, priority: getPriority() }
})
