/**
 * The RelayState of a service provider. It has 80 bytes at most (SAML Bindings §3.4.3, §3.5.3); many send whole addresses,
 * which come back all the same. It is stored while the user signs in, so that it cannot be endless.
 */

import { SamlRefused } from '../errors.ts'

const most = 4096

export const checkRelayState = (
  relayState: string | undefined,
  provider: { readonly id: string },
): void => {
  if (Buffer.byteLength(relayState ?? '') > most)
    throw new SamlRefused(
      `the RelayState is longer than ${most} bytes; keep its content at the service provider and send a key to it`,
      { provider },
    )
}
