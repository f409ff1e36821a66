/** Whether the audit trail is what it was when it was sealed; a part of it at a time. */

import type { CheckChain } from '#server/events/chain-check.ts'
import { type Action, bodyOf } from '../action.ts'

export interface VerifyEventsParts {
  readonly checkChain: CheckChain
}

const count = { type: 'integer', minimum: 0 } as const

export const verifyEvents = ({ checkChain }: VerifyEventsParts): Action => ({
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
      next: { type: ['integer', 'null'], description: 'Give it as `after`; null after the last.' },
    }),
  },
  handle: async ({ realm, query }) => {
    const report = await checkChain(realm, Number(query['after']))
    const { head } = report
    return {
      ...report,
      head: head && { ...head, sealedAt: new Date(head.sealedAt).toISOString() },
    }
  },
})
