/**
 * Tells a client in ping mode that its user has decided (CIBA Core §10.2), through the guarded way out. An endpoint that
 * is out of reach is tried again a few times; the client may ask by itself at any moment, so nothing is lost for good.
 */

import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Notification } from './ciba-requests.ts'

const delaysMs = [0, 1000, 5000, 30_000]
const longestAnswer = 64 * 1024

export type Ping = (
  client: TokenClient,
  told: Notification,
  log: FastifyBaseLogger,
) => Promise<void>

export const createPing =
  (outgoing: Pick<Outgoing, 'request'>): Ping =>
  async ({ clientId, doc }, { authReqId, token }, log) => {
    const url = doc.backchannelClientNotificationEndpoint
    if (url === undefined) return
    const send = async (): Promise<number> => {
      const { status } = await outgoing.request({
        url,
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ auth_req_id: authReqId }),
        maxBytes: longestAnswer,
      })
      return status
    }
    for (const delay of delaysMs) {
      // Not worth keeping a process alive that is told to stop.
      if (delay > 0) await pause(delay, undefined, { ref: false })
      try {
        const status = await send()
        if (status < 500) {
          // A redirect is not followed, and a refusal not argued with (§10.2).
          if (status >= 300) log.warn({ clientId, status }, 'the notification was refused')
          return
        }
        log.warn({ clientId, status }, 'the notification failed')
      } catch (error) {
        log.warn({ clientId, err: error }, 'the notification failed')
      }
    }
  }
