/**
 * `/monitoring`: metrics, health and what is running, for scrapers, probes and balancers. Anonymous, and the same
 * for every caller: no cookie or header changes a response, and no response contains more than a status.
 */

import type { FastifyInstance, FastifyReply } from 'fastify'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { allFigures, exposition, expositionType } from '#server/metrics/metrics.ts'
import type { Siblings } from '#server/platform/threads/siblings.ts'
import { bodyOf } from './action.ts'
import { buildInfo } from './build-info.ts'
import { type Health, type Status, statuses, worst } from './health.ts'

export interface MonitoringParts {
  readonly health: Health
  readonly siblings: Siblings
}

const status = { type: 'string', enum: statuses } as const

const healthSchema: JsonSchema = bodyOf(
  {
    status,
    groups: { type: 'array', items: { type: 'string' } },
    components: { type: 'object', additionalProperties: bodyOf({ status }) },
  },
  ['status', 'components'],
)

/** The component that a group consists of. */
const groups = { liveness: 'livenessState', readiness: 'readinessState' } as const

const infoSchema = bodyOf({
  build: bodyOf({
    name: { type: 'string' },
    version: { type: 'string' },
    time: { type: ['string', 'null'], format: 'date-time' },
  }),
  git: bodyOf({ commit: bodyOf({ id: { type: ['string', 'null'] } }) }),
  runtime: bodyOf({ node: { type: 'string' } }),
  api: bodyOf({ capabilities: { type: 'array', items: { type: 'string' } } }),
})

const describe = (operationId: string, summary: string, response: object) => ({
  schema: { operationId, summary, tags: ['monitoring'], response },
})

export const monitoringRoutes =
  ({ health, siblings }: MonitoringParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const answer = (
      reply: FastifyReply,
      components: Readonly<Record<string, Status>>,
      more: object = {},
    ): FastifyReply => {
      const overall = worst(Object.values(components))
      const shown = Object.entries(components).map(([name, one]) => [name, { status: one }])
      return reply
        .code(overall === 'UP' ? 200 : 503)
        .send({ status: overall, ...more, components: Object.fromEntries(shown) })
    }
    const healthReply = { 200: healthSchema, 503: healthSchema }

    app.get(
      '/monitoring/health',
      describe('read-health', 'The status of every part and, from the worst, of all', healthReply),
      async (_request, reply) =>
        answer(reply, await health.components(), { groups: Object.keys(groups) }),
    )
    for (const [group, component] of Object.entries(groups))
      app.get(
        `/monitoring/health/${group}`,
        describe(`read-${group}`, `The ${group} of the server`, healthReply),
        async (_request, reply) => {
          const { [component]: found = 'DOWN' } = await health.components()
          return answer(reply, { [component]: found })
        },
      )
    app.get(
      '/monitoring/metrics',
      describe('read-metrics', 'Metrics in the text exposition format', {
        200: {
          description: 'Metrics',
          content: { [expositionType]: { schema: { type: 'string' } } },
        },
      }),
      async (_request, reply) =>
        reply.type(expositionType).send(await exposition(await allFigures(siblings))),
    )
    app.get(
      '/monitoring/info',
      describe('read-info', 'The release that runs, and where it was built', { 200: infoSchema }),
      async () => buildInfo(),
    )
  }
