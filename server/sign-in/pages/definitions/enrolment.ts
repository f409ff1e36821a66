/** Adding a factor, in a sign-in or from the account. */

import type { FormPage } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'

export interface EnrolmentPage extends FormPage {
  readonly username: string
  /** Offers a button that posts `step=cancel`. */
  readonly canCancel?: boolean | undefined
}

/** Posts `code` and `label`. */
export interface ConfigureTotpPage extends EnrolmentPage {
  /** What the picture says: the otpauth address. */
  readonly otpauthUrl: string
  /** The same secret in Base32, to be typed. */
  readonly secret: string
  readonly digits?: number | undefined
  readonly label?: string | undefined
  readonly error?: 'wrong-code' | 'expired' | undefined
}

/** Posts `response`, the JSON of the browser's answer, and `label`. */
export interface RegisterPasskeyPage extends EnrolmentPage {
  /** Creation options as JSON, as `generateRegistrationOptions` makes them. */
  readonly options: object
  readonly error?: 'not-recognised' | 'expired' | undefined
}

/** Codes that are shown this one time; posts `saved=true`. */
export interface RecoveryCodesPage extends EnrolmentPage {
  readonly codes: readonly string[]
}

export const enrolmentPages = {
  configureTotp: definePage<ConfigureTotpPage>('configure-totp'),
  registerPasskey: definePage<RegisterPasskeyPage>('register-passkey', {
    script: () => 'webauthn',
  }),
  recoveryCodes: definePage<RecoveryCodesPage>('recovery-codes', {
    script: () => 'codes',
    once: true,
  }),
}
