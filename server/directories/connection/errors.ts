/** Errors of a directory that gave no answer, or an unexpected one. Messages contain no password and no entry. */

/** No server of the directory could be asked: the network, TLS, a time limit, an answer that is no LDAP. */
export class DirectoryAway extends Error {
  override readonly name = 'DirectoryAway'
}

/** The server answered, and said no (RFC 4511 §4.1.9 and appendix A). */
export class DirectoryRefused extends Error {
  override readonly name = 'DirectoryRefused'
  readonly code: number
  constructor(what: string, code: number) {
    super(`${what}: ${meaningOf(code)} (result code ${code})`)
    this.code = code
  }
}

export const resultCodes = {
  success: 0,
  timeLimitExceeded: 3,
  sizeLimitExceeded: 4,
  strongerAuthRequired: 8,
  referral: 10,
  adminLimitExceeded: 11,
  confidentialityRequired: 13,
  constraintViolation: 19,
  noSuchObject: 32,
  invalidCredentials: 49,
  insufficientAccessRights: 50,
  busy: 51,
  unavailable: 52,
  unwillingToPerform: 53,
} as const

const meanings: Readonly<Record<number, string>> = {
  1: 'operations error; Active Directory says so where a bind is needed',
  [resultCodes.timeLimitExceeded]: 'the time limit of the directory was reached',
  [resultCodes.sizeLimitExceeded]: 'the size limit of the directory was reached',
  [resultCodes.strongerAuthRequired]:
    'the directory wants an encrypted connection: use ldaps:// or startTls',
  [resultCodes.referral]: 'the directory refers to another server, which is not asked',
  [resultCodes.adminLimitExceeded]: 'an administrative limit of the directory was reached',
  [resultCodes.confidentialityRequired]:
    'the directory wants an encrypted connection: use ldaps:// or startTls',
  [resultCodes.noSuchObject]: 'there is no such entry, or the bind user may not see it',
  [resultCodes.invalidCredentials]: 'the name or the password is wrong',
  [resultCodes.insufficientAccessRights]: 'the bind user lacks the right',
  [resultCodes.busy]: 'the directory is busy',
  [resultCodes.unavailable]: 'the directory is unavailable',
  [resultCodes.unwillingToPerform]: 'the directory refuses the operation',
}

const meaningOf = (code: number): string => meanings[code] ?? 'the directory refused it'
