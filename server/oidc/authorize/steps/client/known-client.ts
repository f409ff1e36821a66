/** The client exists and is enabled. Until then nothing is redirected anywhere. */

import { Client } from '#schemas/kinds/clients/client.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { unauthorizedClient } from '../../../errors.ts'

export const knownClient = async ({ view }: Issuer, clientId: string): Promise<TokenClient> => {
  const document = await view.get(Client.kind, clientId)
  const client = document && clientOf(document)
  if (!client?.doc.enabled) throw unauthorizedClient('there is no such client')
  return client
}
