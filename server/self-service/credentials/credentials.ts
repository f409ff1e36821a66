/** The credentials of the signed-in user: list and remove. */

import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { credentialGuard, removeCredential } from '#server/credentials/credential-removal.ts'
import { credentialsOf } from '#server/credentials/credentials.ts'
import type { Factors } from '#server/credentials/factors/factors.ts'
import { passkeyType } from '#server/credentials/factors/passkeys.ts'
import type { RecoveryCodeSet } from '#server/credentials/factors/recovery-codes.ts'
import type { Clock } from '#server/platform/clock.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { CredentialRow } from '#server/storage/tables/tables.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import type { Users } from '#server/users/users.ts'
import { type Self, selfEvent } from '../self.ts'
import { passwordType } from './password.ts'
import { insistOnRecentStrength } from './strength.ts'

export interface CredentialsParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly factors: Factors
  readonly ranks: Pick<Ranks, 'permissionsOf'>
  readonly clock: Clock
  readonly users: Users
}

/** What suffices to sign in by itself. */
export const sufficient: readonly string[] = [passwordType, passkeyType]

/** How many recovery codes are left; nothing of other credentials. */
export const codesLeft = ({ type, secret }: CredentialRow): number | undefined =>
  type === 'recovery-codes' ? (JSON.parse(secret) as RecoveryCodeSet).digests.length : undefined

export const shownCredential = (row: CredentialRow) => ({
  id: row.id,
  type: row.type,
  userLabel: row.label,
  createdDate: row.created_at,
  ...(codesLeft(row) === undefined ? {} : { codesLeft: codesLeft(row) }),
})

export const createCredentials = (parts: CredentialsParts) => {
  const { recorder, users, clock } = parts

  const of = ({ user }: Self): Promise<CredentialRow[]> => credentialsOf(parts.storage, user.id)

  return {
    of,

    /** Throws where it is none of the user's, and where nothing would be left to sign in with. */
    remove: async (self: Self, id: string): Promise<void> => {
      await insistOnRecentStrength(parts, self)
      const missing = new Problem('not-found', 'you have no such credential')
      const current = await users.find(self.issuer.name, self.user.id)
      if (!current) throw missing
      const rows = await of(self)
      const row = rows.find((one) => one.id === id)
      if (!row) throw missing
      if (row.type === passwordType)
        throw new Problem('conflict', 'a password is not removed: change it')
      const left = rows.filter((one) => one !== row)
      if (sufficient.includes(row.type) && !left.some(({ type }) => sufficient.includes(type)))
        throw new Problem('in-use', 'you need this to sign in: add another method first')
      try {
        await recorder.commit(
          [
            // Two that are removed at once would each be the other's way in.
            ...users.updateStatements(current, changedUserRow(current, {}, clock.now())),
            ...removeCredential(parts.storage, row),
          ],
          [selfEvent(self, 'REMOVE_CREDENTIAL', row.type)],
        )
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
        if (error.guard === credentialGuard) throw missing
        throw new Problem('conflict', 'It was changed at the same moment: try again.')
      }
    },
  }
}

export type OwnCredentials = ReturnType<typeof createCredentials>
