/** What a sign-in asks about the identity provider that has named its person; `server/sign-in/brokers` answers. */

import type { AuditEvent } from '#server/audit/event.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { SessionRow, UserRow } from '#server/storage/tables/tables.ts'
import type { SignInState } from './state.ts'

export interface Writes {
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

export interface Vouching {
  /** Whether the provider may still vouch for the person; true where there is none. */
  isOpen(view: RealmView, state: SignInState): Promise<boolean>
  /** When the session at the provider ends that the sign-in comes from, in epoch milliseconds; undefined where none is known. */
  endOf(realm: string, state: SignInState): Promise<number | undefined>
  /** What the end of the sign-in writes. Undefined where the person has lost the way in since. */
  signedIn(
    at: { readonly realm: string; readonly view: RealmView; readonly address: string },
    state: SignInState,
    user: UserRow,
    session: SessionRow,
  ): Promise<Writes | undefined>
}
