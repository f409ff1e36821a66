/** The decision of a user on a decoupled request: written once, with its audit event. */

import type { FastifyRequest } from 'fastify'
import { Client } from '#schemas/kinds/clients/client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import { doerOf } from '#server/sessions/doer.ts'
import { GuardFailedError, type Statement } from '#server/storage/contract.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { UserVisit } from '../signed-in-pages.ts'
import type { GrantType } from '../vocabulary.ts'
import type { DecoupledRequests, DecoupledRow } from './decoupled-requests.ts'

/** The user that decides, and the session. */
export type Decider = Pick<UserVisit, 'issuer' | 'session' | 'user'> & {
  readonly request: Pick<FastifyRequest, 'ip'>
}

export interface Decisions {
  /** The client of a request, where it may still use the grant. */
  clientOf(issuer: Issuer, row: DecoupledRow): Promise<TokenClient | undefined>
  /** False where there is nothing to decide any more. `before` is what an approval needs to be there: its session. */
  decide(
    decider: Decider,
    row: DecoupledRow,
    allowed: boolean,
    before?: readonly Statement[],
  ): Promise<boolean>
}

export const createDecisions = (
  { recorder }: { readonly recorder: Recorder },
  requests: DecoupledRequests,
  grant: GrantType,
  /** What else the transaction of a decision is to write. */
  alongside: (row: DecoupledRow) => readonly Statement[] = () => [],
): Decisions => {
  const clientOfRow: Decisions['clientOf'] = async ({ view }, { client_id }) => {
    const document = await view.byId(Client.kind, client_id)
    const client = document && clientOf(document)
    return client?.doc.enabled && client.doc.grantTypes.includes(grant) ? client : undefined
  }

  return {
    clientOf: clientOfRow,
    decide: async ({ request, issuer, session, user }, row, allowed, before = []) => {
      const client = await clientOfRow(issuer, row)
      if (!client) return false
      const statements = allowed
        ? requests.approve(issuer, client, row, session)
        : requests.deny(row, user.id)
      try {
        await recorder.append(
          [...before, ...statements, ...alongside(row)],
          [
            {
              type: 'GRANT_CONSENT',
              realm: issuer.name,
              ...doerOf(user.id, session),
              sourceIp: request.ip,
              outcome: allowed ? 'SUCCESS' : 'FAILURE',
              resourceType: Client.resourceType,
              resourceId: client.id,
              detail: `${grant}: ${allowed ? requests.dataOf(row).scope.join(' ') : 'access_denied'}`,
            },
          ],
        )
        return true
      } catch (error) {
        if (error instanceof GuardFailedError) return false
        throw error
      }
    },
  }
}
