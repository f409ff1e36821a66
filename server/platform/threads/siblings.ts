/**
 * Questions that every process of one server answers (node:cluster): a request reaches one worker, the answer must
 * speak for all. The worker asks the first process, which asks the workers that listen and sends back what they said.
 */

import cluster, { type Worker } from 'node:cluster'

export interface Answers {
  /** Of those who answered in time, the asking process among them. */
  readonly answers: readonly unknown[]
  /** What those who did not had answered before; null of one that never did. */
  readonly silent: readonly unknown[]
  /** What was kept of processes that ended; undefined when there is none. */
  readonly departed?: unknown
}

export interface Siblings {
  answer(question: string, respond: () => Promise<unknown>): void
  ask(question: string): Promise<Answers>
  close(): void
}

/** Adds the last answer of a worker that ended to what was kept of others before it. */
export type Keep = (kept: unknown, last: unknown) => Promise<unknown>

/** Long enough for a worker under load, short enough for a probe. */
const patienceMs = 2000

type ToFirst =
  | { readonly siblings: 'ask'; readonly id: number; readonly question: string }
  | { readonly siblings: 'told'; readonly id: number; readonly answer: unknown }

type ToWorker =
  | { readonly siblings: 'question'; readonly id: number; readonly question: string }
  | { readonly siblings: 'answers'; readonly id: number; readonly answers: Answers }

const isOurs = (message: unknown): message is ToFirst | ToWorker =>
  typeof message === 'object' && message !== null && 'siblings' in message

/** A process that is gone needs no message. */
const ignore = (): void => {}

export const createSiblings = (): Siblings => {
  const responders = new Map<string, () => Promise<unknown>>()
  const waiting = new Map<number, (answers: Answers) => void>()
  let asked = 0

  const own = async (question: string): Promise<unknown> =>
    (await responders.get(question)?.()) ?? null
  const send = (message: ToFirst): void => {
    process.send?.(message, ignore)
  }
  const receive = (message: unknown): void => {
    if (!isOurs(message)) return
    if (message.siblings === 'answers') waiting.get(message.id)?.(message.answers)
    if (message.siblings === 'question') {
      const { id, question } = message
      const tell = (answer: unknown): void => send({ siblings: 'told', id, answer })
      // Without an answer the process counts as silent, which is what a failure here amounts to.
      own(question).then(tell, ignore)
    }
  }
  if (cluster.isWorker) process.on('message', receive)

  const askFirst = (question: string): Promise<Answers> =>
    new Promise((resolve) => {
      asked += 1
      const id = asked
      const settle = (answers: Answers): void => {
        clearTimeout(timer)
        waiting.delete(id)
        resolve(answers)
      }
      // The first process gives up on workers after one patience; a healthy one has answered before two.
      const timer = setTimeout(() => settle({ answers: [], silent: [null] }), 2 * patienceMs)
      waiting.set(id, settle)
      send({ siblings: 'ask', id, question })
    })

  return {
    answer: (question, respond) => {
      responders.set(question, respond)
    },
    ask: async (question) =>
      cluster.isWorker ? askFirst(question) : { answers: [await own(question)], silent: [] },
    close: () => {
      process.off('message', receive)
    },
  }
}

interface Round {
  readonly question: string
  readonly pending: Map<number, Worker>
  readonly answers: Map<number, unknown>
  readonly end: () => void
}

/** In the first process: passes questions and answers on. `keep` has what outlives a worker, by question. */
export const relayQuestions = (keep: Readonly<Record<string, Keep>>): void => {
  const listening = new Map<number, Worker>()
  const rounds = new Map<number, Round>()
  const last = new Map<number, Map<string, unknown>>()
  const departed = new Map<string, Promise<unknown>>()
  let begun = 0

  const begin = (asker: Worker, askedAs: number, question: string): void => {
    begun += 1
    const id = begun
    const pending = new Map(listening)
    const answers = new Map<number, unknown>()
    const end = async (): Promise<void> => {
      clearTimeout(timer)
      rounds.delete(id)
      const silent = [...pending.keys()].map((one) => last.get(one)?.get(question) ?? null)
      const gone = await departed.get(question)
      const message: ToWorker = {
        siblings: 'answers',
        id: askedAs,
        answers: {
          answers: [...answers.values()],
          silent,
          ...(gone === undefined ? {} : { departed: gone }),
        },
      }
      if (asker.isConnected()) asker.send(message, ignore)
    }
    const endOnce = (): void => {
      if (rounds.has(id)) end().catch(ignore)
    }
    const timer = setTimeout(endOnce, patienceMs)
    rounds.set(id, { question, pending, answers, end: endOnce })
    for (const worker of pending.values())
      worker.send({ siblings: 'question', id, question } satisfies ToWorker, ignore)
    if (pending.size === 0) endOnce()
  }

  const settle = (worker: Worker, round: Round | undefined): void => {
    round?.pending.delete(worker.id)
    if (round?.pending.size === 0) round.end()
  }

  cluster.on('listening', (worker) => listening.set(worker.id, worker))
  cluster.on('message', (worker, message: unknown) => {
    if (!isOurs(message)) return
    if (message.siblings === 'ask') begin(worker, message.id, message.question)
    if (message.siblings === 'told') {
      const round = rounds.get(message.id)
      if (!round?.pending.has(worker.id)) return
      const said = last.get(worker.id) ?? new Map<string, unknown>()
      last.set(worker.id, said.set(round.question, message.answer))
      round.answers.set(worker.id, message.answer)
      settle(worker, round)
    }
  })
  cluster.on('exit', (worker) => {
    listening.delete(worker.id)
    for (const [question, answer] of last.get(worker.id) ?? []) {
      const fold = keep[question]
      if (!fold) continue
      const before = departed.get(question) ?? Promise.resolve(undefined)
      departed.set(
        question,
        before.then((kept) => fold(kept, answer).catch(() => kept)),
      )
    }
    last.delete(worker.id)
    for (const round of rounds.values()) {
      // It is among the departed now and must not be counted twice.
      round.answers.delete(worker.id)
      settle(worker, round)
    }
  })
}
