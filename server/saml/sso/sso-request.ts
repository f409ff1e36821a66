/** A request for single sign-on once it was found right: plain JSON, stored while the user signs in. */

import type { NameIdFormat } from '#schemas/drivers/saml.ts'
import type { Acs } from '../service-provider.ts'
import type { RequestedContext } from './authn-context.ts'

export interface SsoRequest {
  /** The ID of the AuthnRequest; none where sign-in starts here. */
  readonly id?: string
  readonly acs: Pick<Acs, 'url' | 'binding'>
  readonly relayState?: string
  readonly forceAuthn: boolean
  readonly isPassive: boolean
  /** Only a sign-in here will do, and none at another identity provider (`ProxyCount` of 0). */
  readonly isDirect?: boolean
  readonly nameId: {
    readonly format: NameIdFormat
    /** Whether a persistent name may be made that there is not yet. */
    readonly allowCreate: boolean
    /** As an EncryptedID. */
    readonly isEncrypted?: boolean
  }
  readonly context?: RequestedContext
  /** The user that must sign in. */
  readonly subject?: { readonly format: NameIdFormat; readonly value: string }
}
