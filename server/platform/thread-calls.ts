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
  /** Answered together; none while the thread is idle. */
  running: readonly Waiting<Question, Answer>[]
}

export const createThreadCalls = <Question, Answer>({
  entry,
  name,
  size,
  most = 1,
}: {
  readonly entry: URL
  readonly name: string
  /** How many threads there may be. */
  readonly size: number
  /** How many questions a thread is given at once: the first waits for the last. */
  readonly most?: number
}): ThreadCalls<Question, Answer> => {
  const threads = new Set<Thread<Question, Answer>>()
  const waiting: Waiting<Question, Answer>[] = []
  let isDispatching = false

  /** A thread takes its part of what waits and not all of it: the others will be idle in a moment. */
  const next = (thread: Thread<Question, Answer>): void => {
    const { worker } = thread
    thread.running = waiting.splice(0, Math.min(most, Math.ceil(waiting.length / size)))
    // An idle one must not keep a process alive that has nothing else to do.
    if (thread.running.length === 0) worker.unref()
    else {
      worker.ref()
      worker.postMessage(thread.running.map(({ question }) => question))
    }
  }

  const start = (): void => {
    const worker = new Worker(entry, { name })
    const thread: Thread<Question, Answer> = { worker, running: [] }
    threads.add(thread)
    let cause: unknown
    worker.on('message', (replies: readonly Reply<Answer>[]) => {
      const { running } = thread
      next(thread)
      for (const [index, { settle }] of running.entries()) {
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
      for (const { settle } of thread.running)
        settle.reject(new Error(`the thread ${name} has ended`, { cause }))
      if (waiting.length > 0 && threads.size === 0) start()
    })
    next(thread)
  }

  const dispatch = (): void => {
    isDispatching = false
    for (const thread of threads) if (thread.running.length === 0) next(thread)
    while (waiting.length > 0 && threads.size < size) start()
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
