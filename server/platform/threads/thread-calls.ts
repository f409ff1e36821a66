/**
 * Functions that run in threads of their own: started by the first call, some calls at a time in each. Calls of one turn
 * of the event loop travel together, and so do their answers: every message wakes a thread that may lose its processor
 * to the one that sent it.
 */

import { Worker } from 'node:worker_threads'

export interface ThreadCalls<Question, Answer> {
  call(question: Question): Promise<Answer>
  close(): Promise<void>
}

/** What a thread answers to each question; see `answerCalls` in thread-answers.ts. */
export type Reply<Answer> = { readonly answer: Answer } | { readonly error: string }

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly settle: PromiseWithResolvers<Answer>
}

interface Thread<Question, Answer> {
  readonly worker: Worker
  /** Each is answered together, one after the other; none while the thread is idle. */
  readonly given: (readonly Waiting<Question, Answer>[])[]
}

export const createThreadCalls = <Question, Answer>({
  entry,
  name,
  size,
  most = 1,
  ahead = 0,
}: {
  readonly entry: URL
  readonly name: string
  /** How many threads there may be. */
  readonly size: number
  /** How many questions a thread is given at once: the first waits for the last. */
  readonly most?: number
  /** How many times a thread is given more while it is at work, so that it need not wait for the event loop. */
  readonly ahead?: number
}): ThreadCalls<Question, Answer> => {
  const threads = new Set<Thread<Question, Answer>>()
  const waiting: Waiting<Question, Answer>[] = []
  let isDispatching = false

  /** A thread takes its part of what waits where others are idle, and all of it where they are at work. */
  const next = (thread: Thread<Question, Answer>): void => {
    const { worker, given } = thread
    const atWork = [...threads].filter((other) => other !== thread && other.given.length > 0)
    const takers = size - atWork.length
    const part = waiting.splice(0, Math.min(most, Math.ceil(waiting.length / takers)))
    if (part.length > 0) {
      if (given.length === 0) worker.ref()
      given.push(part)
      worker.postMessage(part.map(({ question }) => question))
    } else if (given.length === 0) {
      // An idle one must not keep a process alive that has nothing else to do.
      worker.unref()
    }
  }

  const start = (): void => {
    const worker = new Worker(entry, { name })
    const thread: Thread<Question, Answer> = { worker, given: [] }
    threads.add(thread)
    let cause: unknown
    worker.on('message', (replies: readonly Reply<Answer>[]) => {
      const answered = thread.given.shift() ?? []
      next(thread)
      for (const [index, { settle }] of answered.entries()) {
        const reply = replies[index] ?? { error: `the thread ${name} did not answer` }
        if ('answer' in reply) settle.resolve(reply.answer)
        else settle.reject(new Error(reply.error))
      }
    })
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      threads.delete(thread)
      for (const { settle } of thread.given.flat())
        settle.reject(new Error(`the thread ${name} has ended`, { cause }))
      if (waiting.length > 0 && threads.size === 0) start()
    })
    next(thread)
  }

  const dispatch = (): void => {
    isDispatching = false
    // The idle first.
    for (const thread of threads) if (thread.given.length === 0) next(thread)
    while (waiting.length > 0 && threads.size < size) start()
    for (const thread of threads)
      while (waiting.length > 0 && thread.given.length <= ahead) next(thread)
  }

  return {
    call(question) {
      const settle = Promise.withResolvers<Answer>()
      waiting.push({ question, settle })
      if (!isDispatching) setImmediate(dispatch)
      isDispatching = true
      return settle.promise
    },
    async close() {
      waiting.length = 0
      await Promise.all([...threads].map(({ worker }) => worker.terminate()))
    },
  }
}
