/** What users do about themselves, and what their devices do for them: JSON, and a few pages. */

import type { FastifyInstance } from 'fastify'
import { createPreflights } from '#server/oidc/cors.ts'
import { createDpop } from '#server/oidc/token/dpop.ts'
import { deviceApprovals } from './approvals/device-approvals.ts'
import { signInApprovals } from './approvals/sign-in-approvals.ts'
import { deviceEnrolment } from './credentials/device-enrolment.ts'
import { createJsonErrors } from './errors.ts'
import type { AccountParts } from './parts.ts'
import { restoreAddress } from './profile/restore-address.ts'
import { selfService } from './self-service.ts'
import { transactionRoutes } from './transactions/transactions.ts'

export const accountRoutes =
  (parts: AccountParts) =>
  async (app: FastifyInstance): Promise<void> => {
    const shared = {
      ...parts,
      dpop: createDpop(parts),
      preflights: createPreflights(parts.issuers),
    }
    app.setErrorHandler(createJsonErrors(parts.mapError))
    deviceEnrolment(shared)(app)
    deviceApprovals(shared)(app)
    transactionRoutes(shared)(app)
    app.register(signInApprovals(shared))
    app.register(restoreAddress(shared))
    app.register(selfService(shared))
  }
