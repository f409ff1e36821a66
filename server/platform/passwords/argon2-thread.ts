/** A thread that makes and checks Argon2id hashes, one after the other. */

import { hashSync, verifySync } from '@node-rs/argon2'
import { answerCalls } from '../threads/thread-answers.ts'
import { ARGON2ID } from './phc.ts'

export interface Argon2Question {
  readonly password: string
  /** Absent where a hash is to be made. */
  readonly phc?: string
}

answerCalls('passwords', ({ password, phc }: Argon2Question): string | boolean =>
  phc === undefined
    ? hashSync(password, {
        // Algorithm.Argon2id: the library's const enum does not exist at run time.
        algorithm: 2,
        memoryCost: ARGON2ID.memory,
        timeCost: ARGON2ID.passes,
        parallelism: ARGON2ID.lanes,
      })
    : verifySync(phc, password),
)
