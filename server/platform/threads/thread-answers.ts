/** The other end of `createThreadCalls`: what a thread does with each question, and at what priority. */

import { constants, platform, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Reply } from './thread-calls.ts'

/**
 * Priorities of threads where there are more threads than cores: the event loop and the signatures that it waits for come first,
 * and a storm of sign-ins does not starve tokens. Not the lowest one, by which other programs of the machine, such as the
 * database, would stop the work: beside load average 9 on two cores a sign-in took 3.9 s at the lowest priority and 0.3 s at this
 * one, and tokens came 6 times as fast with signatures at the usual one as with signatures at this one (Node.js 24.21). On
 * two cores with nothing else to do there was no difference outside noise.
 */
const priorities = {
  signatures: constants.priority.PRIORITY_NORMAL,
  reads: constants.priority.PRIORITY_BELOW_NORMAL,
  passwords: constants.priority.PRIORITY_BELOW_NORMAL,
} as const

const giveWay = (priority: number): void => {
  // Elsewhere it would be the priority of the whole process.
  if (priority === constants.priority.PRIORITY_NORMAL || platform() !== 'linux') return
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
