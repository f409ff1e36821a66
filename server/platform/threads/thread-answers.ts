/** The other end of `createThreadCalls`: what a thread does with each question, and at what priority. */

import { constants, platform, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Reply } from './thread-calls.ts'

/**
 * Priorities of threads where there are more threads than cores. The event loop comes first, because it distributes the
 * work; interactive password hashing yields to signing.
 */
const priorities = {
  signatures: constants.priority.PRIORITY_BELOW_NORMAL,
  reads: constants.priority.PRIORITY_BELOW_NORMAL,
  passwords: constants.priority.PRIORITY_LOW,
} as const

const giveWay = (priority: number): void => {
  // Elsewhere it would be the priority of the whole process.
  if (platform() !== 'linux') return
  try {
    setPriority(priority)
  } catch {
    // Not allowed here; it works without.
  }
}

export const answerCalls = <Question, Answer>(
  work: keyof typeof priorities,
  answer: (question: Question) => Answer,
): void => {
  giveWay(priorities[work])
  const reply = (question: Question): Reply<Answer> => {
    try {
      return { answer: answer(question) }
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) }
    }
  }
  parentPort?.on('message', (questions: readonly Question[]) => {
    parentPort?.postMessage(questions.map(reply))
  })
}
