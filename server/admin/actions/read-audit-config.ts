import { categories } from '#schemas/event-types.ts'
import type { EmissionConfig } from '#server/events/emission.ts'
import { type Action, bodyOf } from '../action.ts'

export const readAuditConfig = (emission: EmissionConfig): Action => ({
  operationId: 'read-audit-config',
  method: 'GET',
  path: '/admin/audit/config',
  permission: 'view-events',
  resourceType: 'audit-config',
  summary: 'What of the audit trail the server emits, and where to',
  reply: {
    status: 200,
    schema: bodyOf({
      enabled: { type: 'boolean' },
      transports: { type: 'array', items: { type: 'string' } },
      httpUrl: { type: 'string' },
      httpConfigured: { type: 'boolean' },
      authConfigured: { type: 'boolean' },
      categories: { type: 'array', items: { type: 'string', enum: categories } },
      timeoutMs: { type: 'integer' },
    }),
  },
  handle: async () => emission,
})
