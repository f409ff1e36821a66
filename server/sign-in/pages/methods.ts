/** The ways to go on that a user chooses among, as the page names them. */

import type { Option } from '../flow/runner.ts'
import type { Method, MethodKind } from './definitions/factors.ts'

/** By authenticator. One that is not listed can be asked for, but not chosen instead of another. */
export const methodKinds: Readonly<Record<string, MethodKind>> = {
  identify: 'password',
  'username-password': 'password',
  password: 'password',
  totp: 'totp',
  webauthn: 'webauthn',
  'webauthn-passwordless': 'passkey',
  'email-code': 'mail-code',
  'sms-code': 'sms-code',
  'email-link': 'magic-link',
  'recovery-code': 'recovery-code',
  push: 'push',
  qr: 'qr',
  'identity-provider': 'provider',
}

export const methodsOf = (options: readonly Option[]): Method[] =>
  options.flatMap(({ execution, node }) => {
    const kind = methodKinds[execution.authenticator]
    return kind === undefined ? [] : [{ id: node, kind }]
  })
