/** Verification of the audit trail against its seals, one part at a time. */

import type { ChainPart } from '#schemas/wire/events.ts'
import type { CheckChain } from '#server/audit/chain-check.ts'
import { blockWith } from '#server/audit/chain-check.ts'
import { createTurns } from '#server/http/limits/turns.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type Action, bodyOf } from '../action.ts'

export interface VerifyEventsParts {
  readonly storage: Storage
  readonly checkChain: CheckChain
}

const count = { type: 'integer', minimum: 0 } as const

export const verifyEvents = ({ storage, checkChain }: VerifyEventsParts): Action => {
  const turns = createTurns({
    atOnce: () => 1,
    waiting: 4,
    what: 'verifications of the audit events',
  })
  return {
    operationId: 'verify-events',
    method: 'GET',
    path: '/events/verification',
    permission: 'view-events',
    resourceType: 'events',
    summary: 'Recomputes the hashes of sealed audit events and names the first that does not fit',
    query: bodyOf(
      {
        after: {
          type: 'integer',
          minimum: 0,
          default: 0,
          description: 'The `next` of the part before.',
        },
        known: {
          type: 'string',
          pattern: '^[\\w-]{43}$',
          description: 'The hash of a head that was noted down: a chain that was cut off lacks it.',
        },
      },
      [],
    ),
    reply: {
      status: 200,
      schema: bodyOf({
        blocks: count,
        events: count,
        unsealed: { type: ['integer', 'null'], description: 'Not sealed yet; in the last part.' },
        head: {
          type: ['object', 'null'],
          properties: {
            block: count,
            hash: { type: 'string' },
            sealedAt: { type: 'string', format: 'date-time' },
          },
          required: ['block', 'hash', 'sealedAt'],
          additionalProperties: false,
        },
        removedUpTo: {
          type: ['integer', 'null'],
          description: 'The block up to which the events have expired.',
        },
        knownBlock: {
          type: ['integer', 'null'],
          description: 'The block that has the `known` hash; null where none has.',
        },
        fault: {
          type: ['object', 'null'],
          properties: {
            kind: { type: 'string', enum: ['changed', 'removed', 'inserted', 'block'] },
            block: { type: ['integer', 'null'] },
            eventId: { type: ['string', 'null'] },
          },
          required: ['kind', 'block', 'eventId'],
          additionalProperties: false,
        },
        next: {
          type: ['integer', 'null'],
          description: 'Give it as `after`; null after the last.',
        },
      }),
    },
    handle: ({ realm, query }) =>
      turns(realm, async (): Promise<ChainPart> => {
        const report = await checkChain(realm, Number(query['after']))
        const { head } = report
        return {
          ...report,
          knownBlock: await blockWith(storage, realm, query['known'] as string | undefined),
          head: head && { ...head, sealedAt: new Date(head.sealedAt).toISOString() },
        }
      }),
  }
}
