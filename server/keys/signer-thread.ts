/** A thread that signs, one signature after the other. It keeps no key. */

import { type KeyObject, sign } from 'node:crypto'
import { answerCalls } from '#server/platform/threads/thread-answers.ts'
import { digest, padded, type SigningAlgorithm } from './algorithms.ts'

export interface SignatureQuestion {
  /** Shared between the threads, not copied. */
  readonly key: KeyObject
  readonly algorithm: SigningAlgorithm
  readonly data: string
}

answerCalls('signatures', ({ key, algorithm, data }: SignatureQuestion): string =>
  sign(digest, Buffer.from(data), padded(algorithm, key)).toString('base64url'),
)
