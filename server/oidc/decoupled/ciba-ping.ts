/**
 * Notifies a client in ping mode that its user has decided (CIBA Core §10.2), through the guarded client. An endpoint that
 * is out of reach is tried again a few times; the client may poll at any moment, so that no decision is lost.
 */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { JobHandler, NewJob, Outcome } from '#server/jobs/job.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import { OutgoingError } from '#server/platform/outgoing/errors.ts'
import type { Storage } from '#server/storage/contract.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { Issuers } from '#server/tokens/issuers.ts'
import type { CibaRequests, Notification } from './ciba-requests.ts'
import type { DecoupledRow } from './decoupled-requests.ts'

export const pingQueue = 'ciba-ping'

/** The request holds the client's token, sealed: a ping only names it. */
interface PingPayload {
  readonly request: string
}

const waits = [1000, 5000, 30_000]
const longestAnswer = 64 * 1024

/** The pings that a decision on a request makes due. */
export const pingsFor = (
  requests: Pick<CibaRequests, 'notificationOf'>,
  row: DecoupledRow,
): readonly NewJob[] =>
  requests.notificationOf(row)
    ? [
        {
          realm: row.realm,
          target: row.client_id,
          key: row.id,
          payload: { request: row.id } satisfies PingPayload,
        },
      ]
    : []

export const cibaPings = (parts: {
  readonly storage: Storage
  readonly issuers: Issuers
  readonly outgoing: Outgoing
  readonly requests: CibaRequests
}): JobHandler<PingPayload> => {
  const { storage, issuers, outgoing, requests } = parts

  const endpointOf = async ({ realm, client_id }: DecoupledRow): Promise<string | undefined> => {
    const issuer = await issuers.fresh(realm)
    const document = await issuer?.view.byId(Client.kind, client_id)
    const client = document && clientOf(document)
    return client?.doc.enabled ? client.doc.backchannelClientNotificationEndpoint : undefined
  }

  const send = async (
    url: string,
    { authReqId, token }: Notification,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    try {
      const { status } = await outgoing.request({
        url,
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ auth_req_id: authReqId }),
        maxBytes: longestAnswer,
        dropBody: true,
        signal,
      })
      const reason = `it answers ${status}`
      if (status >= 500) return { kind: 'retry', reason }
      // A redirect is not followed, and a refusal not argued with (§10.2).
      return status >= 300 ? { kind: 'dead', reason } : { kind: 'done' }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return { kind: 'retry', reason: error.message }
    }
  }

  return {
    queue: pingQueue,
    perTarget: 10,
    leaseMs: 15_000,
    waits,
    run: async ({ payload }, signal) => {
      const row = await storage.db
        .selectFrom('ciba_requests')
        .selectAll()
        .where('id', '=', payload.request)
        .executeTakeFirst()
      // The client has asked by itself meanwhile, or it is too late.
      const notification = row && requests.notificationOf(row)
      const url = row && (await endpointOf(row))
      return notification && url !== undefined ? send(url, notification, signal) : { kind: 'done' }
    },
  }
}
