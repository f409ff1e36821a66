/**
 * Signs in threads of its own. In Node's thread pool every signature is a job by itself: its thread takes the processor
 * from the event loop when it begins and wakes it when it ends, which costs the event loop as much as all other work of
 * a token.
 */

import { availableParallelism } from 'node:os'
import { createThreadCalls } from '#server/platform/threads/thread-calls.ts'
import { threadEntry } from '#server/platform/threads/thread-entry.ts'
import type { SignatureQuestion } from './signer-thread.ts'

export interface Signer {
  /** In base64url, as a JWS has it (RFC 7515 §7.1). */
  sign(question: SignatureQuestion): Promise<string>
  close(): Promise<void>
}

/** A few milliseconds of work: the first of them waits for the last. */
const MOST = 8

export const createSigner = (): Signer => {
  const { call, close } = createThreadCalls<SignatureQuestion, string>({
    entry: threadEntry(import.meta.url, './signer-thread.ts', 'signer.js'),
    name: 'signer',
    size: availableParallelism(),
    most: MOST,
    ahead: 1,
  })
  return { sign: call, close }
}
