/** Ends the session at an identity provider that takes logouts from servers alone; a job, which is repeated until it is over. */

import type { TellLogout } from '#server/sessions/logout-queue.ts'
import type { Storage } from '#server/storage/contract.ts'
import { type BrokerProtocol, type Provider, UpstreamRefused } from '../protocol.ts'
import type { Providers } from '../providers.ts'
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts'

export interface TellParts {
  readonly storage: Pick<Storage, 'append'>
  readonly providers: Pick<Providers, 'byId'>
  readonly sessions: Pick<UpstreamSessions, 'ofSession' | 'ended'>
  readonly protocolOf: (provider: Provider) => BrokerProtocol
}

export const createTellUpstream =
  ({ storage, providers, sessions, protocolOf }: TellParts): TellLogout =>
  async ({ target, payload: { sid } }, issuer, signal) => {
    const provider = await providers.byId(issuer.view, target)
    if (!provider) return undefined
    const origin = (await sessions.ofSession(sid)).find((one) => one.provider === target)
    if (!origin) return { kind: 'done' }
    try {
      await protocolOf(provider).tellLogout?.(provider, origin.session, signal)
    } catch (error) {
      if (!(error instanceof UpstreamRefused)) throw error
      return { kind: 'retry', reason: error.message }
    }
    await storage.append([sessions.ended(origin)])
    return { kind: 'done' }
  }
