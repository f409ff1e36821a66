/** The account of the signed-in user, as JSON and as pages; an address that has both chooses by the `Accept` header. */

import type { FastifyInstance } from 'fastify'
import type { MapError } from '#server/http/errors.ts'
import { wantsPage } from '#server/http/wants-page.ts'
import { agentOperations } from './agents.ts'
import { consentOperations } from './consents.ts'
import { credentialOperations } from './credentials/credentials-api.ts'
import { passwordOperations } from './credentials/password.ts'
import { dataOperations } from './data.ts'
import { createJsonErrors } from './errors.ts'
import { addOperations, type OperationParts } from './operation.ts'
import type { OwnAccount } from './own-account.ts'
import type { createAccountPages } from './pages/index.ts'
import { portalOperations } from './portal.ts'
import { profileOperations } from './profile/profile.ts'
import { sessionOperations } from './sessions.ts'
import { sharingOperations } from './sharing.ts'

export interface AccountRouteParts extends OperationParts {
  readonly own: OwnAccount
  readonly pages: ReturnType<typeof createAccountPages>
  readonly mapError?: MapError | undefined
}

export const accountRoutes = (parts: AccountRouteParts) => {
  const { own, pages, mapError } = parts
  /** THE list of what can be done by JSON. */
  const operations = [
    ...profileOperations(own.changeProfile),
    ...passwordOperations(own.changePassword),
    ...credentialOperations(own.credentials, own.enrolments),
    ...sessionOperations(own.sessions),
    ...portalOperations,
    ...consentOperations(own.consents, own.revokeConsent),
    ...sharingOperations(own.sharing),
    ...agentOperations(own.agents),
    ...dataOperations(own.data, own.identities),
  ]
  const isShared = (path: string): boolean =>
    operations.some((operation) => operation.method === 'GET' && operation.path === path)

  return async (app: FastifyInstance): Promise<void> => {
    const onJson = createJsonErrors(mapError)
    app.setErrorHandler((error, request, reply) =>
      request.method === 'GET' && wantsPage(request)
        ? pages.onError(error, request, reply)
        : onJson(error, request, reply),
    )
    addOperations(app, parts, operations, pages.at)
    app.register(pages.routes(isShared))
  }
}
