/** The client exists and is enabled. Until then nothing is redirected anywhere. */

import type { FindClient, TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { unauthorizedClient } from '../../../errors.ts'

export const createKnownClient =
  (findClient: FindClient) =>
  async (issuer: Issuer, clientId: string): Promise<TokenClient> => {
    const { client, refused = 'there is no such client' } = await findClient(issuer, clientId)
    if (!client?.doc.enabled) throw unauthorizedClient(refused)
    return client
  }

export type KnownClient = ReturnType<typeof createKnownClient>
