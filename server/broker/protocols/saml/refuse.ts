/** Refuses an answer of a SAML provider: with a sentence for the operator, never with a value of the person. */

import { type Refusal, XmlRefused } from '#server/xml/index.ts'
import { UpstreamRefused } from '../../protocol.ts'

/** The answer proves nothing. */
export const refuse = (message: string): never => {
  throw new UpstreamRefused('invalid-answer', message)
}

/** Our configuration refuses the answer: its operator can change that. */
export const notAllowed = (message: string): never => {
  throw new UpstreamRefused('not-allowed', message)
}

/** What the gate of received XML refused. */
export class XmlAnswerRefused extends UpstreamRefused {
  readonly refusal: Refusal
  constructor({ refusal, message }: XmlRefused) {
    super('invalid-answer', `${refusal}: ${message}`)
    this.refusal = refusal
  }
}

export const gated = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    throw error instanceof XmlRefused ? new XmlAnswerRefused(error) : error
  }
}
