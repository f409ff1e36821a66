/** GET …/identity-providers/{alias}/check: connects to an identity provider and says what would fail at the next sign-in. */

import { Problem } from '#schemas/problems.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import { type Action, bodyOf } from '../action.ts'

export const checkIdentityProvider = (
  broker: Pick<BrokerArea, 'providers' | 'check'>,
  baseUrl: string,
): Action => ({
  operationId: 'check-identity-provider',
  method: 'GET',
  path: '/identity-providers/:alias/check',
  permission: 'manage-identity-providers',
  resourceType: 'identity-providers',
  summary: 'Connects to the identity provider and says what would fail',
  reply: {
    status: 200,
    schema: bodyOf({
      findings: {
        type: 'array',
        items: bodyOf({
          level: { type: 'string', enum: ['error', 'warning'] },
          message: { type: 'string' },
        }),
      },
    }),
  },
  handle: async ({ realm, view, params }) => {
    const alias = params['alias'] ?? ''
    const provider = await broker.providers.findAny(view, alias)
    if (!provider) throw new Problem('not-found', `there is no identity provider "${alias}"`)
    return { findings: await broker.check({ url: `${baseUrl}/realms/${realm}` }, provider) }
  },
})
