/**
 * A sign-in through an identity provider that came to nothing. The page names the provider and a request id; the cause is in the
 * audit event, the details in the log. Nothing has been made.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Recorder } from '#server/audit/audit.ts'
import { UpstreamRefused } from '#server/broker/protocol.ts'
import type { PageContext, PageError } from '#server/http/pages/pages.ts'
import type { SignInPages } from '../pages/definitions/index.ts'
import { brokerEvent } from './link-writes.ts'
import type { SignInProvider } from './providers.ts'

export type RefusalReason =
  | UpstreamRefused['reason']
  | 'closed'
  | 'linked-already'
  | 'no-way-through'

const told: Readonly<
  Record<RefusalReason, { readonly error: PageError; readonly status: number }>
> = {
  denied: { error: 'provider-denied', status: 403 },
  'invalid-answer': { error: 'provider-invalid', status: 400 },
  unavailable: { error: 'provider-unavailable', status: 502 },
  'not-allowed': { error: 'provider-not-allowed', status: 403 },
  expired: { error: 'provider-expired', status: 403 },
  'not-fresh': { error: 'provider-not-fresh', status: 403 },
  closed: { error: 'provider-not-allowed', status: 403 },
  'linked-already': { error: 'provider-linked', status: 409 },
  'no-way-through': { error: 'provider-no-way', status: 403 },
}

export interface RefusalParts {
  readonly recorder: Pick<Recorder, 'append'>
  readonly pages: SignInPages
  readonly onLogin?: ((realm: string, outcome: 'success' | 'failure') => void) | undefined
}

export interface RefusalAt {
  readonly request: FastifyRequest
  readonly realm: string
  readonly provider: Pick<SignInProvider, 'alias' | 'name'>
  readonly context: PageContext
  /** Where to start again. */
  readonly backUrl: string
  /** It was to link an account: the way back is to the account. */
  readonly isLink?: boolean
}

export const createRefusals =
  ({ recorder, pages, onLogin }: RefusalParts) =>
  async (
    reply: FastifyReply,
    { request, realm, provider, context, backUrl, isLink = false }: RefusalAt,
    reason: RefusalReason,
    actor = '',
  ): Promise<FastifyReply> => {
    const place = { realm, address: request.ip }
    const failure = brokerEvent(place, provider, 'IDENTITY_PROVIDER_LOGIN', actor, reason)
    await recorder.append([], [failure])
    onLogin?.(realm, 'failure')
    return pages.error(reply, {
      ...context,
      ...told[reason],
      provider: provider.name,
      requestId: request.id,
      backUrl,
      backTo: isLink ? 'account' : 'sign-in',
    })
  }

export type Refusals = ReturnType<typeof createRefusals>

/** The reason, of what a protocol throws; throws everything else again. */
export const reasonOf = (error: unknown, request: FastifyRequest): RefusalReason => {
  if (!(error instanceof UpstreamRefused)) throw error
  request.log.warn({ reason: error.reason, detail: error.message }, 'identity provider refused')
  return error.reason
}
