/** The consents of a user. Only the user revokes them: see server/self-service/consents.ts. */

import { type Consents, consentsSchema } from '#server/oidc/consent/consents.ts'
import type { Action } from '../action.ts'
import { type UserParts, userIn } from './users.ts'

export const listConsents = (parts: UserParts, consents: Pick<Consents, 'list'>): Action => {
  return {
    operationId: 'list-user-consents',
    method: 'GET',
    path: '/users/:userId/gdpr/consents',
    permission: 'view-users',
    resourceType: 'users',
    summary: 'The consents of the user to clients',
    reply: { status: 200, schema: consentsSchema },
    handle: async (context) => consents.list(context.realm, (await userIn(parts, context)).id),
  }
}
