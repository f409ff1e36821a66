/** Users revoke their consent to a client, with everything that was issued to it. */

import { Client } from '#schemas/kinds/clients/client.ts'
import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { doerOf } from '#server/sessions/doer.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Account } from '../account-caller.ts'
import { type Consents, consentGuard } from './consents.ts'

export interface RevokeConsentParts {
  readonly consents: Pick<Consents, 'revoke'>
  readonly recorder: Recorder
}

/** The same for an unknown client: the caller does not learn which clients the realm has. */
export const createRevokeConsent =
  ({ consents, recorder }: RevokeConsentParts) =>
  async (
    issuer: Issuer,
    { user: { id: userId }, session }: Pick<Account, 'user' | 'session'>,
    clientId: string,
    address: string,
  ): Promise<void> => {
    const missing = new Problem('not-found', 'There is no such consent.')
    const client = await issuer.view.get(Client.kind, clientId)
    if (!client) throw missing
    try {
      await recorder.commit(consents.revoke(issuer.name, userId, client.id), [
        {
          type: 'REVOKE_GRANT',
          realm: issuer.name,
          ...doerOf(userId, session),
          sourceIp: address,
          outcome: 'SUCCESS',
          resourceType: Client.resourceType,
          resourceId: client.id,
          detail: 'consent',
        },
      ])
    } catch (error) {
      if (error instanceof GuardFailedError && error.guard === consentGuard) throw missing
      throw error
    }
  }

export type RevokeConsent = ReturnType<typeof createRevokeConsent>
