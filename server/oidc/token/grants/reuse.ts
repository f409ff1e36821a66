/** The second use of a single-use value: everything that was issued for it ends, and that is recorded once. */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import { doerWith } from '../acting.ts'
import type { GrantContext } from './grant.ts'

/** No effect if the grant has ended already, by sign-out or by a concurrent detection. */
export const recordReuse = async (
  { grantsStore, recorder }: { readonly grantsStore: GrantsStore; readonly recorder: Recorder },
  { issuer, client, sourceIp }: GrantContext,
  grant: TokenGrantRow,
): Promise<void> => {
  const { id, user_id } = grant
  try {
    await recorder.append(grantsStore.revokeOnce(id), [
      {
        type: 'REFRESH_TOKEN_REUSE',
        realm: issuer.name,
        ...(user_id === null
          ? { actor: client.id }
          : doerWith(user_id, grantsStore.dataOf(grant).claims)),
        sourceIp,
        outcome: 'FAILURE',
        resourceType: Client.resourceType,
        resourceId: client.id,
        detail: 'all tokens of the grant are revoked',
      },
    ])
  } catch (error) {
    if (!(error instanceof GuardFailedError)) throw error
  }
}
