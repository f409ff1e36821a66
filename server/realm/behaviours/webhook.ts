/**
 * Webhooks: each has a secret, and after a change of it the one before signs beside it for a while, so that receivers can
 * follow.
 */

import { Problem } from '#schemas/problems.ts'
import { randomToken } from '#server/platform/random.ts'
import { statement } from '#server/storage/statements.ts'
import type { Draft } from '../write/drafts.ts'
import type { Behaviour, Prepared, PrepareTools } from './behaviour.ts'

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

/** No delivery goes out unsigned. */
const newSecret = ({ body, secrets, sealed }: Draft): Prepared => {
  if (body === null || pointer in secrets || pointer in sealed) return {}
  const secret = randomToken(32)
  return { secrets: { [pointer]: secret }, answer: { secret } }
}

/** A subscription is a way to read events: a new one, and a change of where they go, needs what reading them needs. */
const refusalOf = ({ body }: Draft, { caller }: PrepareTools): Prepared =>
  body === null || caller.permissions.has('view-events')
    ? {}
    : {
        refused: new Problem(
          'forbidden',
          'a webhook sends events: to write one also needs the permission view-events',
        ),
      }

export const webhook: Behaviour = {
  prepare: async (drafts, tools) => ({
    prepared: drafts.map((draft) => ({ ...newSecret(draft), ...refusalOf(draft, tools) })),
    statements: drafts
      .filter(({ body }) => body !== null)
      .flatMap((draft) => keepPrevious(draft, tools)),
  }),
}
