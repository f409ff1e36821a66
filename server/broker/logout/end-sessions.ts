/** A logout at an identity provider ends the sessions here that came from the session there, and tells their clients. */

import type { Recorder } from '#server/audit/audit.ts'
import { presentOnce } from '#server/credentials/replay-guards.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import { GuardFailedError, type Storage } from '#server/storage/contract.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { type EndedUpstream, type Provider, UpstreamRefused } from '../protocol.ts'
import type { UpstreamSessions } from '../sessions/upstream-sessions.ts'

export interface EndParts {
  readonly storage: Pick<Storage, 'db'>
  readonly recorder: Recorder
  readonly jobs: Pick<Jobs, 'wake'>
  readonly sessions: Pick<Sessions, 'findBySids' | 'revokeStatements'>
  readonly upstreamSessions: Pick<UpstreamSessions, 'endedBy' | 'ended'>
}

const replayed = 'broker-logout'
/** Sessions may end by themselves between the look and the commit. */
const mostTries = 3

export const createEndSessions = (parts: EndParts) => {
  const { storage, recorder, jobs, sessions, upstreamSessions } = parts

  const attempt = async (
    issuer: Issuer,
    provider: Provider,
    ended: EndedUpstream,
    address: string,
  ): Promise<number> => {
    const { name: realm } = issuer
    const rows = await upstreamSessions.endedBy(provider.id, ended)
    const sids = rows.map(({ sid }) => sid)
    const alive = await sessions.findBySids(realm, sids, issuer.settings)
    const once = ended.replay
      ? [
          presentOnce(
            storage,
            {
              realm,
              purpose: `${replayed}:${provider.id}`,
              id: ended.replay.id,
              expiresAt: ended.replay.until,
            },
            replayed,
          ),
        ]
      : []
    await recorder.commit(
      [
        ...once,
        ...rows.map(upstreamSessions.ended),
        ...alive.flatMap(({ session }) => sessions.revokeStatements(realm, session.sid)),
      ],
      alive.map(({ user }) => ({
        type: 'LOGOUT',
        realm,
        actor: user.id,
        sourceIp: address,
        outcome: 'SUCCESS',
        detail: `identity provider ${provider.alias}`,
      })),
    )
    jobs.wake(logoutQueue)
    return alive.length
  }

  /** How many ended. Throws `UpstreamRefused` where the message was presented before. */
  return async (
    issuer: Issuer,
    provider: Provider,
    ended: EndedUpstream,
    address: string,
  ): Promise<number> => {
    for (let tries = 1; ; tries += 1)
      try {
        return await attempt(issuer, provider, ended, address)
      } catch (error) {
        if (!(error instanceof GuardFailedError)) throw error
        if (error.guard === replayed)
          throw new UpstreamRefused('invalid-answer', 'the logout message was presented before')
        if (tries === mostTries) throw error
      }
  }
}

export type EndSessions = ReturnType<typeof createEndSessions>
