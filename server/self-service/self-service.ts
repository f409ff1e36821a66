/** The account in its user's own hands, as JSON and as pages; an address that both have answers by what is asked for. */

import type { FastifyInstance } from 'fastify'
import { consentOperations } from './consents.ts'
import { credentialOperations } from './credentials/credentials-api.ts'
import { passwordOperations } from './credentials/password.ts'
import { dataOperations } from './data.ts'
import { createJsonErrors } from './errors.ts'
import { addOperations, type OperationParts, wantsPage } from './operation.ts'
import { createAccountPages } from './pages/index.ts'
import type { AccountParts } from './parts.ts'
import { profileOperations } from './profile/profile.ts'
import { sessionOperations } from './sessions.ts'

export const selfService = (parts: AccountParts & OperationParts) => {
  const pages = createAccountPages(parts)
  /** THE list of what can be done by JSON. */
  const operations = [
    ...profileOperations(parts),
    ...passwordOperations(parts),
    ...credentialOperations(parts),
    ...sessionOperations(parts),
    ...consentOperations(parts),
    ...dataOperations(parts),
  ]
  const isShared = (path: string): boolean =>
    operations.some((operation) => operation.method === 'GET' && operation.path === path)

  return async (app: FastifyInstance): Promise<void> => {
    const onJson = createJsonErrors(parts.mapError)
    app.setErrorHandler((error, request, reply) =>
      request.method === 'GET' && wantsPage(request)
        ? pages.onError(error, request, reply)
        : onJson(error, request, reply),
    )
    addOperations(app, parts, operations, pages.at)
    app.register(pages.routes(isShared))
  }
}
