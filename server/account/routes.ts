/** What users do about themselves, and what their devices do for them: JSON, and a few pages. */

import type { FastifyInstance } from 'fastify'
import { createPreflights } from '#server/oidc/cors.ts'
import { createDpop } from '#server/oidc/dpop.ts'
import { deviceApprovals } from './device-approvals.ts'
import { deviceEnrolment } from './device-enrolment.ts'
import { createJsonErrors } from './errors.ts'
import type { AccountParts } from './parts.ts'
import { restoreAddress } from './restore-address.ts'
import { selfService } from './self-service.ts'
import { signInApprovals } from './sign-in-approvals.ts'
import { transactionRoutes } from './transactions.ts'

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
