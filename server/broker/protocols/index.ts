/** THE list of protocols that have code. */

import type { ProtocolName } from '#schemas/drivers/identity-providers.ts'
import type { BrokerProtocol } from '../protocol.ts'
import { eherkenning } from './eid/eherkenning.ts'
import { eidas } from './eid/eidas.ts'
import { createOidc, type OidcParts } from './oidc/oidc.ts'
import type { SamlParts } from './saml/parties.ts'
import { createSamlProtocol } from './saml/saml.ts'
import { plainSaml } from './saml/scheme.ts'

export type ProtocolParts = OidcParts & SamlParts

export const createProtocols = (
  parts: ProtocolParts,
): ((name: ProtocolName) => BrokerProtocol | undefined) => {
  const all: readonly BrokerProtocol[] = [
    createOidc(parts),
    ...[plainSaml, eherkenning, eidas].map((scheme) => createSamlProtocol(parts, scheme)),
  ]
  const byName = new Map(all.flatMap((protocol) => protocol.names.map((name) => [name, protocol])))
  return (name) => byName.get(name)
}
