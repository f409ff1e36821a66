/** A thread that compares passwords with bcrypt hashes: in JavaScript, so it must not run where requests are answered. */

import { parentPort } from 'node:worker_threads'
import bcrypt from 'bcryptjs'

export interface Question {
  readonly id: number
  readonly hash: string
  readonly password: string
}

export interface Verdict {
  readonly id: number
  readonly matches: boolean
}

parentPort?.on('message', ({ id, hash, password }: Question) => {
  const verdict: Verdict = { id, matches: bcrypt.compareSync(password, hash) }
  parentPort?.postMessage(verdict)
})
