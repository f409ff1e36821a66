/**
 * The end of sessions that a service provider asks for (SAML Profiles §4.4.4.1): those that it knows under the name and the
 * index it gives, and no other. With a session ends all that was issued within it, as with every other way to sign out.
 */

import { nameIdFormatOf, nameIdFormats } from '#schemas/drivers/saml.ts'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Clock } from '#server/platform/clock.ts'
import { doerOf } from '#server/sessions/doer.ts'
import { logoutQueue } from '#server/sessions/endings.ts'
import type { SamlSessions } from '#server/sessions/saml-sessions.ts'
import type { FoundSession, Sessions } from '#server/sessions/sessions.ts'
import { ConstraintError, GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { SamlSessionRow } from '#server/storage/tables/saml-tables.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { freshMs, skewMs } from '../bindings/message-header.ts'
import { SamlStatusError } from '../errors.ts'
import type { ServiceProvider } from '../service-provider.ts'
import type { LogoutRequest } from './logout-request.ts'

export interface EndParts {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly jobs: Pick<Jobs, 'wake'>
  readonly sessions: Pick<Sessions, 'findBySids' | 'revokeStatements'>
  readonly samlSessions: SamlSessions
  readonly grantsStore: Pick<GrantsStore, 'once'>
}

export interface Ending {
  readonly issuer: Issuer
  readonly provider: ServiceProvider
  readonly request: LogoutRequest
  readonly sourceIp: string
  /** Statements about the sessions that end, for the same transaction. */
  readonly together: (sids: readonly string[]) => Promise<readonly Statement[]>
}

/** A session may end by itself while it is being ended. */
const attempts = 3

const isNamed = (
  { name_id_format, session_index }: SamlSessionRow,
  { nameIdFormat, sessionIndexes }: LogoutRequest,
): boolean => {
  const own = nameIdFormatOf(name_id_format)
  return (
    (nameIdFormat === undefined || (own && nameIdFormats[own]) === nameIdFormat) &&
    (sessionIndexes.length === 0 || sessionIndexes.includes(session_index))
  )
}

export const createEndSessions = (parts: EndParts) => {
  const { clock, recorder, jobs, sessions, samlSessions, grantsStore } = parts

  const attempt = async (ending: Ending): Promise<FoundSession[]> => {
    const { issuer, provider, request, sourceIp, together } = ending
    const { name: realm, settings } = issuer
    const known = (await samlSessions.named(realm, provider.id, request.nameId)).filter((row) =>
      isNamed(row, request),
    )
    if (known.length === 0)
      throw new SamlStatusError('UnknownPrincipal', 'the user has no such session there')
    const sids = known.map(({ sid }) => sid)
    const alive = await sessions.findBySids(realm, sids, settings)
    const event = { type: 'LOGOUT', realm, sourceIp, outcome: 'SUCCESS' } as const
    const resource = { resourceType: SamlClient.resourceType, resourceId: provider.id }
    const events: AuditEvent[] = alive.map(({ user, session }) => ({
      ...event,
      ...doerOf(user.id, session),
      ...resource,
    }))
    await recorder.commit(
      [
        ...grantsStore.once(
          realm,
          `saml-logout ${provider.id}`,
          request.id,
          clock.now() + freshMs + 2 * skewMs,
        ),
        ...(await together(alive.map(({ session }) => session.sid))),
        // The service provider that asks has ended its own, and is not told.
        ...known.map(({ sid }) => samlSessions.ended({ sid, providerId: provider.id })),
        ...alive.flatMap(({ session }) => sessions.revokeStatements(realm, session.sid)),
      ],
      events.length > 0
        ? events
        : [{ ...event, actor: provider.id, ...resource, detail: 'the session had ended before' }],
    )
    jobs.wake(logoutQueue)
    return alive
  }

  return async (ending: Ending): Promise<FoundSession[]> => {
    for (let left = attempts; ; left -= 1) {
      try {
        return await attempt(ending)
      } catch (error) {
        if (error instanceof ConstraintError && error.table === 'replay_guards')
          throw new SamlStatusError('RequestDenied', 'the request was answered before')
        if (!(error instanceof GuardFailedError) || left <= 1) throw error
      }
    }
  }
}

export type EndSessions = ReturnType<typeof createEndSessions>
