/**
 * Audits each refusal of an identified client, in every phase, so that probing of names, scopes or tokens is visible. Anybody can
 * send the requests of a public client: a flood of them is counted (server/audit/floods/refusals.ts).
 */

import type { EventType } from '#schemas/wire/event-types.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Refusals } from '#server/audit/floods/refusals.ts'
import type { MapError } from '#server/http/errors.ts'
import { type OAuthError, toOAuthError } from './errors.ts'
import { type GrantPlace, grantEvent } from './token/issue.ts'

/** That nothing is decided yet, or more is to be sent along, is part of the protocol. */
const noRefusals: ReadonlySet<string> = new Set([
  'authorization_pending',
  'slow_down',
  'use_dpop_nonce',
  'interaction_required',
  'need_info',
  'request_submitted',
])

/** What the client is to be told; a failure of the server is not the client's, and is in the log. */
export type RecordRefusal = (
  type: EventType,
  place: GrantPlace,
  error: unknown,
) => Promise<OAuthError>

export const createRecordRefusal =
  ({
    recorder,
    refusals,
    mapError,
  }: {
    readonly recorder: Pick<Recorder, 'append'>
    readonly refusals: Pick<Refusals, 'record'>
    readonly mapError?: MapError | undefined
  }): RecordRefusal =>
  async (type, place, error) => {
    const told = toOAuthError(error, mapError)
    if (told.status < 500 && !noRefusals.has(told.code)) {
      const detail = `${told.code}: ${told.options.detail ?? told.message}`
      const { id, clientId, doc } = place.client
      const event = grantEvent(type, place, 'FAILURE', { actor: id }, detail)
      const cause = `${told.code} of client ${clientId}`
      if (doc.publicClient) await refusals.record({ event, cause, isKnown: true })
      else await recorder.append([], [event])
    }
    return told
  }
