/** Recipients of messages: validation, and masking for the log. */

import type { Channel } from '#schemas/drivers/messaging.ts'
import { emailErrors, nameOf } from '#schemas/text/names.ts'
import { beginningOf } from '#schemas/text/storable-text.ts'

/** E.164. */
const phoneNumber = /^\+[1-9][0-9]{6,14}$/
/** As devices have them: no white space, nothing that ends a path or a header. */
const deviceToken = /^[\w:.-]{8,4096}$/

/** What a recipient must be, where it is not; addresses are judged in the spelling that they are sent to. */
export const recipientProblem = (channel: Channel, to: string): string | undefined => {
  if (channel === 'EMAIL')
    return emailErrors(to).length > 0 ? 'must be an email address' : undefined
  if (channel === 'SMS')
    return phoneNumber.test(to) ? undefined : 'must be a phone number such as +31612345678'
  return deviceToken.test(to) ? undefined : 'must be the token of a device'
}

export const recipientOf = (channel: Channel, to: string): string =>
  channel === 'EMAIL' ? nameOf(to).value : to

/** Masked: enough to recognise a known recipient, too little to write to it. */
export const maskedRecipient = (channel: Channel, to: string): string => {
  if (channel !== 'EMAIL') return `…${to.slice(-2)}`
  const at = to.lastIndexOf('@')
  return `${beginningOf(to, 1)}…${at < 0 ? '' : to.slice(at)}`
}

/** No line of a header ends where a value says so (CVE-2025-7962). */
export const oneLine = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim()
