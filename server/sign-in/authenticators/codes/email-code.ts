/** A code sent to the email address of the user. */

import type { Step } from '../../flow/step.ts'
import { type SentCodeParts, sentCodeStep } from './sent-codes.ts'

export const emailCode = (parts: SentCodeParts): Step =>
  sentCodeStep(parts, {
    id: 'email-code',
    amr: 'otp',
    channel: 'EMAIL',
    templateKey: 'otp-email',
    addressOf: ({ email }) => email ?? undefined,
    page: parts.pages.mailCode,
  })
