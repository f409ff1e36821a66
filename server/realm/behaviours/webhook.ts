/**
 * Webhooks: each has a secret, and after a change of it the one before signs beside it for a while, so that receivers can
 * follow.
 */

import { Problem } from '#schemas/problems.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Statement } from '#server/storage/contract.ts'
import { keepWebhookSecret } from '../rules/previous-secrets.ts'
import type { Draft } from '../write/drafts.ts'
import type { Behaviour, Prepared, PrepareTools } from './behaviour.ts'

const pointer = '/secret'
const graceMs = 24 * 3600_000

const keepPrevious = ({ id, before, secrets }: Draft, tools: PrepareTools): Statement[] => {
  const { realm, now } = tools
  const previous = before?.secrets[pointer]
  if (secrets[pointer] === undefined || previous === undefined) return []
  return [keepWebhookSecret(tools, { id, realm }, { now, previous, graceMs })]
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
