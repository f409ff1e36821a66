/** A code sent to the phone of the user: the number is the attribute `phoneNumber`, as OpenID Connect names the claim. */

import type { Step } from '../../flow/step.ts'
import { type SentCodeParts, sentCodeStep } from './sent-codes.ts'

const phoneOf = (attributes: string): string | undefined => {
  const { phoneNumber }: { phoneNumber?: readonly string[] } = JSON.parse(attributes)
  return phoneNumber?.[0]
}

export const smsCode = (parts: SentCodeParts): Step =>
  sentCodeStep(parts, {
    id: 'sms-code',
    amr: 'sms',
    channel: 'SMS',
    templateKey: 'otp-sms',
    addressOf: ({ attributes }) => phoneOf(attributes),
    page: parts.pages.smsCode,
  })
