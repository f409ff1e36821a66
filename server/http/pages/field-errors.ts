/** Errors of a form field, as ids of messages, shown beside the field. */

import type { PasswordIssueCode, PasswordPolicy } from '#server/platform/passwords/policy.ts'

export type FieldErrorId =
  | 'required'
  | 'invalid'
  | 'too-long'
  | 'invalid-email'
  | 'taken'
  | 'other-address'
  | 'mismatch'
  | 'wrong-password'
  | 'wrong-code'
  | 'password.history'
  | 'password.breached'
  | 'password.directory'
  | PasswordIssueCode

export interface FieldError {
  readonly id: FieldErrorId
  readonly values?: Readonly<Record<string, string>> | undefined
}

export type FieldErrors<Field extends string> = Readonly<
  Partial<Record<Field, readonly FieldError[]>>
>

const counted = {
  'password.minLength': 'length',
  'password.maxLength': 'maxLength',
  'password.digits': 'digits',
  'password.lowerCase': 'lowerCase',
  'password.upperCase': 'upperCase',
  'password.specialChars': 'specialChars',
} as const

const isCounted = (code: string): code is keyof typeof counted => Object.hasOwn(counted, code)

/** What `checkPassword` found, with the numbers of the policy. */
export const passwordErrors = (
  issues: readonly { readonly code: PasswordIssueCode }[],
  policy: PasswordPolicy,
): FieldError[] =>
  issues.map(({ code }) =>
    isCounted(code)
      ? { id: code, values: { count: String(policy[counted[code]] ?? '') } }
      : { id: code },
  )
