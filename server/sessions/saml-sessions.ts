/**
 * The sessions that users have at SAML service providers: what each was told of a session, so that a logout can name it
 * (SAML Profiles §4.4). A row outlives its session until the session would have ended, for those who tell of the end.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'
import { visitClient } from './session-clients.ts'

export interface SamlVisit {
  readonly session: SessionRow
  /** The id of the service provider's document. */
  readonly providerId: string
  readonly nameId: { readonly format: string; readonly value: string }
  readonly sessionIndex: string
}

export const createSamlSessions = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}) => ({
  /** The session led there, under this name; a name of before is replaced. */
  visit: ({ session, providerId, nameId, sessionIndex }: SamlVisit): Statement[] => {
    const { sid, realm, user_id, expires_at } = session
    const now = clock.now()
    const named = { name_id: nameId.value, name_id_format: nameId.format, expires_at }
    const row = { sid, client_id: providerId, realm, user_id, session_index: sessionIndex }
    return [
      visitClient(db, { sid, clientId: providerId, userId: user_id, realm, now }),
      statement(
        db
          .insertInto('saml_sessions')
          .values({ ...row, ...named, since: now })
          .onConflict((conflict) => conflict.columns(['sid', 'client_id']).doUpdateSet(named)),
      ),
    ]
  },
  /** Removes what has expired, of all realms. */
  forgetStatements: (): Statement[] => [
    statement(db.deleteFrom('saml_sessions').where('expires_at', '<=', clock.now())),
  ],
})

export type SamlSessions = ReturnType<typeof createSamlSessions>
