/** Totals over all realms and processes. The counters start with the server. */

import { Client } from '#schemas/kinds/clients/client.ts'
import { allFigures, totalsOf } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Siblings } from '#server/platform/threads/siblings.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type Action, bodyOf } from '../action.ts'

export interface SummaryParts {
  readonly storage: Storage
  readonly clock: Clock
  readonly siblings: Siblings
}

const count = { type: 'integer', minimum: 0 } as const

export const readMetricsSummary = ({ storage: { db }, clock, siblings }: SummaryParts): Action => ({
  operationId: 'read-metrics-summary',
  method: 'GET',
  path: '/admin/metrics/summary',
  permission: 'view-events',
  resourceType: 'metrics',
  summary: 'How much there is and how much has happened since the server began',
  reply: {
    status: 200,
    schema: bodyOf({
      generatedAt: { type: 'integer', description: 'Epoch milliseconds.' },
      realms: count,
      users: count,
      clients: count,
      activeSessions: { ...count, description: 'Sessions that have not reached their end.' },
      logins: bodyOf({ success: count, failure: count }),
      tokensIssued: count,
      mfaChallenges: count,
      adminWrites: bodyOf({ success: count, denied: count }),
    }),
  },
  handle: async () => {
    const now = clock.now()
    const rows = async (query: { execute(): Promise<{ rows: number }[]> }): Promise<number> =>
      Number((await query.execute())[0]?.rows ?? 0)
    const [realms, users, clients, activeSessions, figures] = await Promise.all([
      rows(db.selectFrom('realms').select((eb) => eb.fn.countAll<number>().as('rows'))),
      rows(db.selectFrom('users').select((eb) => eb.fn.countAll<number>().as('rows'))),
      rows(
        db
          .selectFrom('documents')
          .where('kind', '=', Client.kind)
          // Not the command line's, which every realm has.
          .where('origin', '!=', 'built-in')
          .select((eb) => eb.fn.countAll<number>().as('rows')),
      ),
      rows(
        db
          .selectFrom('sessions')
          .where('expires_at', '>', now)
          .select((eb) => eb.fn.countAll<number>().as('rows')),
      ),
      allFigures(siblings),
    ])
    const counts = { realms, users, clients, activeSessions }
    return { generatedAt: now, ...counts, ...totalsOf(figures) }
  },
})
