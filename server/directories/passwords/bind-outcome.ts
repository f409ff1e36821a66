/**
 * What the answer to a bind says about the user: the result code, the password policy control of the directory
 * (draft-behera-ldap-password-policy-11 §6.2), and the sub-code in the message of Active Directory (MS-ERREF §2.2).
 */

import type { DirectoryReason } from '#server/credentials/refusals.ts'
import type { BindAnswer } from '../connection/connection.ts'
import { DirectoryAway, resultCodes } from '../connection/errors.ts'

export type BindOutcome =
  | { readonly passed: true; readonly warning: string | undefined }
  | { readonly passed: false; readonly reason: DirectoryReason }

const subCodes: Readonly<Record<string, DirectoryReason>> = {
  '525': 'unknown-user',
  '52e': 'wrong-password',
  // Not at this hour, and not from this computer.
  '530': 'user-disabled',
  '531': 'user-disabled',
  '532': 'password-expired',
  '533': 'user-disabled',
  '701': 'user-expired',
  '773': 'password-must-change',
  '775': 'user-locked',
}

/** Numbers of the control; they are not exported with their types. */
const policyErrors: Readonly<Record<number, DirectoryReason>> = {
  0: 'password-expired',
  1: 'user-locked',
  2: 'password-must-change',
}

const dayOf = (seconds: number): number => Math.floor(seconds / 86_400)

const warningOf = ({ policy }: BindAnswer): string | undefined => {
  if (policy?.graceAuthNsRemaining !== undefined)
    return `the password has expired, ${policy.graceAuthNsRemaining} sign-ins are left`
  if (policy?.timeBeforeExpiration !== undefined)
    return `the password expires in ${dayOf(policy.timeBeforeExpiration)} days`
  return undefined
}

const subCodeOf = ({ message }: BindAnswer): DirectoryReason | undefined => {
  const [, code = ''] = /\bdata ([0-9a-f]{3,8})\b/i.exec(message) ?? []
  return subCodes[code.toLowerCase()]
}

export const outcomeOf = (answer: BindAnswer): BindOutcome => {
  const policyError = policyErrors[answer.policy?.error ?? -1]
  switch (answer.code) {
    case resultCodes.success:
      // The directory lets the user do nothing but change the password.
      return policyError === undefined
        ? { passed: true, warning: warningOf(answer) }
        : { passed: false, reason: policyError }
    case resultCodes.invalidCredentials:
      return { passed: false, reason: policyError ?? subCodeOf(answer) ?? 'wrong-password' }
    // 389 Directory Server, and FreeIPA on it: "Exceed password retry limit".
    case resultCodes.constraintViolation:
      return { passed: false, reason: policyError ?? 'user-locked' }
    case resultCodes.noSuchObject:
      return { passed: false, reason: 'wrong-password' }
    case resultCodes.unwillingToPerform:
    case resultCodes.insufficientAccessRights:
    case 48:
      return { passed: false, reason: policyError ?? subCodeOf(answer) ?? 'user-disabled' }
    default:
      throw new DirectoryAway(`the directory answers a bind with result code ${answer.code}`)
  }
}
