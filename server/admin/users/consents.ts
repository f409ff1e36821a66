/** What a user has allowed clients. Only the user takes it back: see server/self-service/consents.ts. */

import { consentsSchema, createConsents } from '#server/oidc/consent/consents.ts'
import type { GrantsStore } from '#server/tokens/grants-store.ts'
import type { Action } from '../action.ts'
import { type UserParts, userIn } from './users.ts'

export interface ConsentParts extends UserParts {
  readonly grantsStore: GrantsStore
}

export const listConsents = (parts: ConsentParts): Action => {
  const consents = createConsents(parts)
  return {
    operationId: 'list-user-consents',
    method: 'GET',
    path: '/users/:userId/gdpr/consents',
    permission: 'view-users',
    resourceType: 'users',
    summary: 'What the user has allowed clients',
    reply: { status: 200, schema: consentsSchema },
    handle: async (context) => consents.list(context.realm, (await userIn(parts, context)).id),
  }
}
