/** POST …/compare: whether a realm equals the files, in one request. */

import { type JsonSchema, jsonSchemaOf } from '#schemas/json-schema.ts'
import { Problem } from '#schemas/problems.ts'
import { type CompareRequest, compareRequest } from '#schemas/wire/wire.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { createMemoryLimiter, type RateLimiter } from '#server/http/rate-limit.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { compareRealm } from '#server/realm/changesets/compare.ts'
import type { RefuseUnlessOutranked } from '#server/realm/rules/stronger.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type Action, type ActionContext, asChecked, bodyOf } from '../action.ts'
import { actionEvent } from '../event.ts'

export interface CompareParts {
  readonly storage: Storage
  readonly vault: Vault
  readonly recorder: Recorder
  readonly clock: Clock
  readonly refuseUnlessOutranked: RefuseUnlessOutranked
}

/** Enough for a pipeline that never stops; of guesses at one secret, two a second. */
const limits = {
  hashes: { limit: 1200, seconds: 60 },
  secrets: { limit: 120, seconds: 60 },
} as const

const text: JsonSchema = { type: 'string' }
const places = (more: Readonly<Record<string, JsonSchema>> = {}): JsonSchema => ({
  type: 'array',
  items: bodyOf({ kind: text, key: text, ...more }),
})
const count: JsonSchema = { type: 'integer' }

const always = {
  revision: count,
  differingSections: { type: 'array', items: text },
  differingSecrets: places({ pointer: text }),
  unmanaged: places({ owner: { type: ['string', 'null'] } }),
  unmanagedCount: count,
  orphaned: places(),
  orphanedCount: count,
} satisfies Readonly<Record<string, JsonSchema>>

const refuseTooMany = async (limiter: RateLimiter, context: ActionContext): Promise<void> => {
  const retryAfter = await limiter.take(`${context.caller.actor}\n${context.realm}`)
  if (retryAfter > 0)
    throw new Problem('rate-limited', `Try again in ${retryAfter} s.`, { extra: { retryAfter } })
}

export const compareAction = (parts: CompareParts): Action => {
  const { storage, vault, recorder, clock, refuseUnlessOutranked } = parts
  const ofHashes = createMemoryLimiter(clock, limits.hashes)
  const ofSecrets = createMemoryLimiter(clock, limits.secrets)
  return {
    operationId: 'compare-realm',
    method: 'POST',
    path: '/compare',
    permission: 'per-kind',
    resourceType: 'compare',
    planning: true,
    events: ['ADMIN_ACTION'],
    summary:
      'Compares sections and secrets with the given hashes; comparisons of secrets are audited',
    body: jsonSchemaOf(compareRequest),
    bodyLimit: 64 * 1024 * 1024,
    reply: {
      status: 200,
      schema: bodyOf(
        { ...always, withoutCredentials: places(), registered: places(), registeredCount: count },
        Object.keys(always),
      ),
    },
    handle: async (context) => {
      const { realm, caller } = context
      const request = asChecked<CompareRequest>(context.body)
      const { length } = request.secrets ?? []
      await refuseTooMany(length > 0 ? ofSecrets : ofHashes, context)
      const reply = await compareRealm(realm, request, {
        db: storage.db,
        vault,
        caller,
        refuseUnlessOutranked,
      })
      if (!reply) throw new Problem('not-found', `there is no realm "${realm}"`)
      // Before the response: each comparison of a secret is audited.
      if (length > 0)
        await recorder.append(
          [],
          [
            actionEvent(
              context,
              'ADMIN_ACTION',
              { type: 'compare', id: realm },
              `compare: ${length} secrets, ${reply.differingSecrets.length} differ`,
            ),
          ],
        )
      return reply
    },
  }
}
