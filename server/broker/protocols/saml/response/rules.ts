/** What an answer of a provider must fulfil, as the provider's document and the request that was sent say it. */

import type { KeyObject } from 'node:crypto'
import type { Decryption } from '#server/xml/index.ts'

export interface ResponseRules {
  readonly idpEntityId: string
  /** What verifies its signatures, all trusted alike; KeyInfo of the message is never looked at. */
  readonly keys: readonly KeyObject[]
  readonly spEntityId: string
  /** Our address that the answer came to: Destination and Recipient. */
  readonly acsUrl: string
  /** The request that it answers; none where the provider began by itself. */
  readonly request:
    | { readonly id: string; readonly sentAt: number; readonly isForced: boolean }
    | undefined
  /** Epoch milliseconds. */
  readonly now: number
  /** Of the clock of the provider. */
  readonly skewMs: number
  /** The Assertion itself must be signed. */
  readonly wantAssertionsSigned: boolean
  /** The Response must be signed. */
  readonly wantResponseSigned: boolean
  readonly wantAssertionsEncrypted: boolean
  readonly decryption: Decryption
  /** Classes that were asked for by `exact`; the answer must have one of them. Empty: any. */
  readonly contextClasses: readonly string[]
}

/** So long an answer may be under way. */
export const freshMs = 5 * 60_000
