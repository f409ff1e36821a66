/** THE list of protocols that have code. */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { BrokerProtocol } from '../protocol.ts'
import { createOidc, type OidcParts } from './oidc/oidc.ts'

export type ProtocolParts = OidcParts

export const createProtocols = (
  parts: ProtocolParts,
): ((name: ProtocolName) => BrokerProtocol | undefined) => {
  const all: readonly BrokerProtocol[] = [createOidc(parts)]
  const byName = new Map(all.flatMap((protocol) => protocol.names.map((name) => [name, protocol])))
  return (name) => byName.get(name)
}
