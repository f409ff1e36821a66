/** A thread that compares passwords with bcrypt hashes: in JavaScript, so it must not run where requests are answered. */

import bcrypt from 'bcryptjs'
import { answerCalls } from '../threads/thread-answers.ts'

export interface Comparison {
  readonly hash: string
  readonly password: string
}

answerCalls('passwords', ({ hash, password }: Comparison) => bcrypt.compareSync(password, hash))
