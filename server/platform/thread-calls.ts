/** Functions that run in threads of their own: started by the first call, one call at a time in each. */

import { Worker } from 'node:worker_threads'

export interface ThreadCalls<Question, Answer> {
  call(question: Question): Promise<Answer>
  close(): Promise<void>
}

/** What a thread answers; see `answerCalls` in thread-answers.ts. */
export type Reply<Answer> = { readonly answer: Answer } | { readonly error: string }

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly settle: PromiseWithResolvers<Answer>
}

interface Thread<Question, Answer> {
  readonly worker: Worker
  running?: Waiting<Question, Answer> | undefined
}

export const createThreadCalls = <Question, Answer>({
  entry,
  name,
  size,
}: {
  readonly entry: URL
  readonly name: string
  /** How many threads there may be. */
  readonly size: number
}): ThreadCalls<Question, Answer> => {
  const threads = new Set<Thread<Question, Answer>>()
  const waiting: Waiting<Question, Answer>[] = []

  const next = (thread: Thread<Question, Answer>): void => {
    const { worker } = thread
    thread.running = waiting.shift()
    // An idle one must not keep a process alive that has nothing else to do.
    if (!thread.running) worker.unref()
    else {
      worker.ref()
      worker.postMessage(thread.running.question)
    }
  }

  const start = (): void => {
    const worker = new Worker(entry, { name })
    const thread: Thread<Question, Answer> = { worker }
    threads.add(thread)
    let cause: unknown
    worker.on('message', (reply: Reply<Answer>) => {
      const { running } = thread
      next(thread)
      if ('answer' in reply) running?.settle.resolve(reply.answer)
      else running?.settle.reject(new Error(reply.error))
    })
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      threads.delete(thread)
      thread.running?.settle.reject(new Error(`the thread ${name} has ended`, { cause }))
      if (waiting.length > 0 && threads.size === 0) start()
    })
    next(thread)
  }

  return {
    call(question) {
      const settle = Promise.withResolvers<Answer>()
      waiting.push({ question, settle })
      const idle = [...threads].find(({ running }) => running === undefined)
      if (idle) next(idle)
      else if (threads.size < size) start()
      return settle.promise
    },
    async close() {
      waiting.length = 0
      await Promise.all([...threads].map(({ worker }) => worker.terminate()))
    },
  }
}
