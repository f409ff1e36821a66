/**
 * Which keys signed for which service providers recently, so that an old key is not removed while one still depends on it. To
 * the hour, so that almost no sign-in writes it.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { statement } from '#server/storage/statements.ts'
import type { SamlKeyUseRow } from '#server/storage/tables/saml-tables.ts'

const hourMs = 3_600_000
/** Uses within this time are reported. */
const keptMs = 30 * 24 * hourMs
/** Pairs that a node remembers; a larger installation writes some of them again. */
const mostKnown = 10_000

export const createKeyUses = ({
  storage: { db },
  clock,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
}) => {
  const known = new Map<string, number>()

  return {
    /** The key signs for the service provider now; nothing to write where that was written within the hour. */
    use: (
      realm: string,
      providerId: string,
      kid: string,
    ): { readonly statements: Statement[]; readonly written: () => void } => {
      const usedAt = Math.floor(clock.now() / hourMs) * hourMs
      const pair = `${providerId} ${kid}`
      if (known.get(pair) === usedAt) return { statements: [], written: () => undefined }
      const row = { client_id: providerId, kid, realm, used_at: usedAt }
      const written = (): void => {
        if (known.size >= mostKnown) known.clear()
        known.set(pair, usedAt)
      }
      const upsert = db
        .insertInto('saml_key_uses')
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(['client_id', 'kid']).doUpdateSet({ used_at: usedAt }),
        )
      return { statements: [statement(upsert)], written }
    },
    /** Uses of the last 30 days, the latest first. */
    of: (realm: string): Promise<SamlKeyUseRow[]> =>
      db
        .selectFrom('saml_key_uses')
        .selectAll()
        .where('realm', '=', realm)
        .where('used_at', '>', clock.now() - keptMs)
        .orderBy('used_at', 'desc')
        .orderBy('kid')
        .execute(),
    forgetStatements: (): Statement[] => [
      statement(db.deleteFrom('saml_key_uses').where('used_at', '<=', clock.now() - keptMs)),
    ],
  }
}

export type KeyUses = ReturnType<typeof createKeyUses>
