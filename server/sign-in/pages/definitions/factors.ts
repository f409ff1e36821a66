/** One page for each factor besides the password. */

import type { FormPage, PageContext } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { StepPage } from './step-page.ts'

/** A code from an app; posts `code`. */
export interface TotpPage extends StepPage {
  /** How many digits the code has; 6 unless told. */
  readonly digits?: number | undefined
  /** Name that the user gave the app, where there are several. */
  readonly label?: string | undefined
}

/** A code that was sent; posts `code`, or `step=resend`. */
export interface SentCodePage extends StepPage {
  readonly digits?: number | undefined
  /** Masked address or number that it was sent to; none where its existence must not be revealed. */
  readonly sentTo?: string | undefined
  /** A new one was sent on the user's wish. */
  readonly resent?: boolean | undefined
}

/** A link that was sent; posts `step=resend`. */
export interface MagicLinkPage extends StepPage {
  /** As of `SentCodePage`. */
  readonly sentTo?: string | undefined
  /** Whether the link need not be opened in this browser. */
  readonly opensAnywhere?: boolean | undefined
  readonly resent?: boolean | undefined
}

/** One of the codes for emergencies; posts `code`. */
export type RecoveryCodePage = StepPage

/** A security key or passkey; posts `response`, the JSON of the browser's answer. */
export interface WebAuthnPage extends StepPage {
  /** Request options as JSON, as `generateAuthenticationOptions` makes them. */
  readonly options: object
}

/** Waits for an answer on a phone; posts `step=resend`, or `check` where there are no scripts. */
export interface PushPage extends StepPage {
  /** What the user picks or types on the phone. */
  readonly number?: string | undefined
  readonly device?: string | undefined
  /** Answers `{ "status": "PENDING" }` while there is nothing new; then the form with `check` is sent. */
  readonly statusUrl: string
}

/** A picture for the phone's camera, and a number to tell there; posts `check`. */
export interface QrPage extends StepPage {
  /** What the picture says; none until the user has asked for it, by `check` too. */
  readonly text?: string | undefined
  /** As of `PushPage`. */
  readonly number?: string | undefined
  /** As of `PushPage`. */
  readonly statusUrl: string
}

/** What a link in a message leads to: nothing happens before the button, as mail scanners follow links too. */
export interface ConfirmLinkPage extends FormPage {
  readonly purpose:
    | 'sign-in'
    | 'reset-password'
    | 'verify-email'
    | 'delete-account'
    | 'restore-email'
  readonly username?: string | undefined
  readonly email?: string | undefined
  /** Posted with `_csrf`. */
  readonly fields: Readonly<Record<string, string>>
}

export type MethodKind =
  | 'password'
  | 'totp'
  | 'webauthn'
  | 'passkey'
  | 'mail-code'
  | 'sms-code'
  | 'magic-link'
  | 'recovery-code'
  | 'push'
  | 'qr'
  | 'provider'

export interface Method {
  /** Posted as `method`. */
  readonly id: string
  readonly kind: MethodKind
  /** The user's name for it, or where it leads to: a masked address, a device. */
  readonly label?: string | undefined
}

export interface ChooseMethodPage extends StepPage {
  readonly methods: readonly Method[]
}

const webauthn = (_page: PageContext): 'webauthn' => 'webauthn'
const poll = (_page: PageContext): 'poll' => 'poll'

export const factorPages = {
  totp: definePage<TotpPage>('totp'),
  mailCode: definePage<SentCodePage>('mail-code'),
  smsCode: definePage<SentCodePage>('sms-code'),
  magicLink: definePage<MagicLinkPage>('magic-link'),
  recoveryCode: definePage<RecoveryCodePage>('recovery-code'),
  webauthn: definePage<WebAuthnPage>('webauthn', { script: webauthn }),
  passkey: definePage<WebAuthnPage>('passkey', { script: webauthn }),
  push: definePage<PushPage>('push', { script: poll }),
  qr: definePage<QrPage>('qr', { script: poll }),
  confirmLink: definePage<ConfirmLinkPage>('confirm-link'),
  chooseMethod: definePage<ChooseMethodPage>('choose-method'),
}
