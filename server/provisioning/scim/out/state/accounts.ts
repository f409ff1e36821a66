/** Accounts that a user has at the targets of the realm: recipients of personal data (GDPR article 15). */

import { ScimTarget } from '#schemas/kinds/provisioning/scim-target.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { Resources } from './resources.ts'

export interface AccountRecord {
  readonly scimTarget: string
  /** The id of the user at the target. */
  readonly userId: string
}

/** By the name of the target; also at targets that are disabled. */
export const createAccountsOf =
  ({ resources }: { readonly resources: Pick<Resources, 'byIds'> }) =>
  async (view: RealmView, userId: string): Promise<AccountRecord[]> => {
    const accounts: AccountRecord[] = []
    for (const { id, key } of await view.list(ScimTarget.kind))
      for (const { remote_id } of await resources.byIds(id, 'user', [userId]))
        if (remote_id !== null) accounts.push({ scimTarget: key, userId: remote_id })
    return accounts
  }
