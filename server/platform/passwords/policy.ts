/**
 * The password policy of a realm, with the policy names of Keycloak. History, expiry and the breach check need stored
 * or external data and are elsewhere.
 */

import { matchesWhole, patternProblem } from '#schemas/text/linear-pattern.ts'

export interface PasswordPolicy {
  length?: number | undefined
  maxLength?: number | undefined
  digits?: number | undefined
  lowerCase?: number | undefined
  upperCase?: number | undefined
  specialChars?: number | undefined
  notUsername?: boolean | undefined
  notEmail?: boolean | undefined
  notContainsUsername?: boolean | undefined
  regexPattern?: string | undefined
  passwordBlacklist?: readonly string[] | undefined
}

export interface PasswordOwner {
  username?: string | null | undefined
  email?: string | null | undefined
}

export type PasswordIssueCode =
  | 'password.minLength'
  | 'password.maxLength'
  | 'password.digits'
  | 'password.lowerCase'
  | 'password.upperCase'
  | 'password.specialChars'
  | 'password.notUsername'
  | 'password.notEmail'
  | 'password.notContainsUsername'
  | 'password.regexPattern'
  | 'password.blacklisted'

export interface PasswordIssue {
  code: PasswordIssueCode
  message: string
}

/** No policy may allow more: a password is hashed, searched and matched against a pattern. */
const MAX_PASSWORD_LENGTH = 1024

/**
 * One form for what looks the same (NIST SP 800-63B §3.1.1.2), so that a password typed on another
 * keyboard or system still matches. To be applied before checking and before hashing; twice is harmless.
 */
export function normalizePassword(text: string): string {
  return text.normalize('NFKC')
}

/** Every rule that the password breaks, in a fixed order; none when it may be used. */
export function checkPassword(
  password: string,
  policy: PasswordPolicy,
  owner: PasswordOwner = {},
): PasswordIssue[] {
  // Before anything else looks at it, and before normalisation, which can make a text longer.
  if (password.length > MAX_PASSWORD_LENGTH) return [tooLong(MAX_PASSWORD_LENGTH)]
  const text = normalizePassword(password)
  const lengths = [...lengthIssues(text, policy)]
  if (lengths.some(({ code }) => code === 'password.maxLength')) return lengths
  return [
    ...lengths,
    ...characterIssues(text, policy),
    ...ownerIssues(text, policy, owner),
    ...wordingIssues(text, policy),
  ]
}

function* lengthIssues(text: string, policy: PasswordPolicy): Iterable<PasswordIssue> {
  const length = count(text, /./gsu)
  const minimum = policy.length ?? 0
  const maximum = Math.min(policy.maxLength ?? MAX_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH)
  if (length < minimum) {
    yield issue('password.minLength', `must have at least ${quantity(minimum, 'character')}`)
  }
  if (length > maximum) yield tooLong(maximum)
}

const CHARACTER_RULES = [
  { field: 'digits', pattern: /\p{Nd}/gu, noun: 'digit' },
  { field: 'lowerCase', pattern: /\p{Lowercase}/gu, noun: 'lower-case letter' },
  { field: 'upperCase', pattern: /\p{Uppercase}/gu, noun: 'upper-case letter' },
  { field: 'specialChars', pattern: /[^\p{L}\p{Nd}]/gu, noun: 'special character' },
] as const

function* characterIssues(text: string, policy: PasswordPolicy): Iterable<PasswordIssue> {
  for (const { field, pattern, noun } of CHARACTER_RULES) {
    const minimum = policy[field] ?? 0
    if (count(text, pattern) < minimum) {
      yield issue(`password.${field}`, `must have at least ${quantity(minimum, noun)}`)
    }
  }
}

function* ownerIssues(
  text: string,
  policy: PasswordPolicy,
  owner: PasswordOwner,
): Iterable<PasswordIssue> {
  const folded = fold(text)
  const username = fold(owner.username ?? '')
  const email = fold(owner.email ?? '')
  if (policy.notUsername === true && username !== '' && folded === username) {
    yield issue('password.notUsername', 'must not be the username')
  }
  if (policy.notEmail === true && email !== '' && folded === email) {
    yield issue('password.notEmail', 'must not be the email address')
  }
  if (policy.notContainsUsername === true && username !== '' && folded.includes(username)) {
    yield issue('password.notContainsUsername', 'must not contain the username')
  }
}

function* wordingIssues(text: string, policy: PasswordPolicy): Iterable<PasswordIssue> {
  const { regexPattern, passwordBlacklist = [] } = policy
  if (regexPattern !== undefined && !matchesWhole(regexPattern, text)) {
    yield issue('password.regexPattern', patternIssue(regexPattern))
  }
  const folded = fold(text)
  if (passwordBlacklist.some((word) => fold(word) === folded)) {
    yield issue('password.blacklisted', 'is on the list of forbidden passwords')
  }
}

/** A pattern that an earlier version stored may be one that cannot be used: no password passes until it is replaced. */
function patternIssue(pattern: string): string {
  return patternProblem(pattern) === undefined
    ? 'must match the pattern of the realm'
    : 'cannot be checked: passwordPolicy.regexPattern of the realm cannot be used; an administrator must replace it'
}

function issue(code: PasswordIssueCode, message: string): PasswordIssue {
  return { code, message }
}

function tooLong(maximum: number): PasswordIssue {
  return issue('password.maxLength', `must have at most ${quantity(maximum, 'character')}`)
}

function quantity(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

function fold(text: string): string {
  return normalizePassword(text).toLowerCase()
}
