/** The other end of `createThreadCalls`: what a thread does with each question, and at what priority. */

import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Reply } from './thread-calls.ts'

export const answerCalls = <Question, Answer>(answer: (question: Question) => Answer): void => {
  try {
    // Of this thread alone where the system can: what people wait for at a keyboard gives way to what machines sign.
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Not allowed here; it works without.
  }
  parentPort?.on('message', (question: Question) => {
    const reply = (): Reply<Answer> => {
      try {
        return { answer: answer(question) }
      } catch (error) {
        return { error: error instanceof Error ? error.message : String(error) }
      }
    }
    parentPort?.postMessage(reply())
  })
}
