/** Webhooks: after a change of the secret the one before signs beside it for a while, so that receivers can follow. */

import { statement } from '#server/storage/statements.ts'
import type { Behaviour, PrepareTools } from '../behaviour.ts'
import type { Draft } from '../drafts.ts'

const pointer = '/secret'
const graceMs = 24 * 3600_000

const keepPrevious = ({ id, before, secrets }: Draft, { db, realm, now }: PrepareTools) => {
  const previous = before?.secrets[pointer]
  if (secrets[pointer] === undefined || previous === undefined) return []
  const row = {
    created_at: now,
    previous: JSON.stringify(previous),
    previous_expires_at: now + graceMs,
  }
  return [
    statement(
      db
        .insertInto('webhook_secrets')
        .values({ webhook_id: id, realm, ...row })
        .onConflict((conflict) => conflict.column('webhook_id').doUpdateSet(row)),
    ),
  ]
}

export const webhook: Behaviour = {
  prepare: async (drafts, tools) => ({
    prepared: drafts.map(() => ({})),
    statements: drafts
      .filter(({ body }) => body !== null)
      .flatMap((draft) => keepPrevious(draft, tools)),
  }),
}
