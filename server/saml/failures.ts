/**
 * Messages that are refused, in the audit log. Nothing in such a message is trusted: the event names the service provider that
 * the message claims to be from, where the realm has it, and the reason.
 */

import type { FastifyRequest } from 'fastify'
import { SamlClient } from '#schemas/kinds/clients/saml-client.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { printable } from '#server/users/names.ts'
import { SamlRefused } from './errors.ts'

/** Of a reason, which may repeat what the sender wrote: an algorithm, a status. */
const longestDetail = 500

/** The part of a visit that an event is about. */
export interface FailedVisit {
  readonly request: Pick<FastifyRequest, 'ip'>
  readonly issuer: Pick<Issuer, 'name'>
}

export interface FailureParts {
  readonly recorder: Pick<Recorder, 'append'>
  readonly refusals: Pick<Refusals, 'record'>
}

export const createFailures = (
  { recorder, refusals }: FailureParts,
  type: Extract<AuditEvent['type'], 'SAML_SSO' | 'LOGOUT'>,
) => {
  const eventOf = (
    { request, issuer }: FailedVisit,
    { id }: { readonly id: string },
    detail: string,
  ): AuditEvent => ({
    type,
    realm: issuer.name,
    actor: id,
    sourceIp: request.ip,
    outcome: 'FAILURE',
    resourceType: SamlClient.resourceType,
    resourceId: id,
    detail: printable(detail, longestDetail),
  })

  return {
    record: async (
      visit: FailedVisit,
      provider: { readonly id: string },
      detail: string,
    ): Promise<void> => {
      await recorder.append([], [eventOf(visit, provider, detail)])
    },
    /**
     * Records a refusal that names a service provider; every other error leaves no event. Anybody can name one, so that a flood
     * is counted. Its cause has no words of the sender.
     */
    recordRefusal: async (visit: FailedVisit, error: unknown): Promise<void> => {
      if (!(error instanceof SamlRefused) || !error.provider) return
      await refusals.record({
        event: eventOf(visit, error.provider, error.message),
        cause: `refused messages (${type}) in the name of the service provider ${error.provider.id}`,
        isKnown: true,
      })
    },
  }
}

export type Failures = ReturnType<typeof createFailures>
