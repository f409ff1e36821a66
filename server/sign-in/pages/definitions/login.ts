/** Signing in by name and password. */

import type { FormPage } from '#server/http/pages/context.ts'
import { definePage } from '#server/http/pages/definition.ts'
import type { SignInPage, StepPage } from './step-page.ts'

/** Ids of messages; a locked user and a wrong password are the same message on purpose. */
export type LoginError = 'credentials' | 'expired' | 'too-many' | 'unavailable'

/** Another place to sign in at. */
export interface ProviderLink {
  readonly name: string
  /** The protocol, where it has a picture of its own. */
  readonly icon?: string | undefined
  readonly url: string
}

/** What the first page of a sign-in offers besides its own fields. */
export interface FirstPage extends FormPage, SignInPage {
  readonly username?: string | undefined
  /** Whether the field also takes an email address. */
  readonly emailAllowed?: boolean | undefined
  /** The state of the box `rememberMe`; it is offered only when this is given. */
  readonly rememberMe?: boolean | undefined
  readonly error?: LoginError | undefined
  readonly notice?: 'signed-out' | 'password-changed' | 'registered' | undefined
  readonly registerUrl?: string | undefined
  readonly providers?: readonly ProviderLink[] | undefined
  /** Whether an organization has a provider: posts `step=organization`. */
  readonly hasOrganizations?: boolean | undefined
  /**
   * Request options of WebAuthn, as JSON: offers passkeys by a button and in the field's autofill. The answer is posted
   * as `response`, alone but for `_csrf`.
   */
  readonly passkey?: object | undefined
  /** Whether there are ways that the page does not offer itself; as of `StepPage`. */
  readonly hasOthers?: boolean | undefined
}

/** Posts `username`, `password` and, if offered, `rememberMe`. */
export interface LoginPage extends FirstPage {
  readonly resetUrl?: string | undefined
}

/** Posts `username` and, if offered, `rememberMe`. */
export type IdentifyPage = FirstPage

/** Posts `password`. */
export interface PasswordPage extends Omit<StepPage, 'error'>, SignInPage {
  readonly username: string
  readonly error?: LoginError | undefined
  readonly resetUrl?: string | undefined
}

/** Its form signs out. */
export interface SignedInPage extends FormPage {
  readonly username: string
  readonly name?: string | undefined
  readonly accountUrl?: string | undefined
}

const passkeyScript = ({ passkey }: FirstPage): 'webauthn' | undefined =>
  passkey === undefined ? undefined : 'webauthn'

export const loginPages = {
  login: definePage<LoginPage>('login', { script: passkeyScript }),
  identify: definePage<IdentifyPage>('identify', { script: passkeyScript }),
  password: definePage<PasswordPage>('password'),
  signedIn: definePage<SignedInPage>('signed-in'),
}
