/**
 * Returns the outcome of an authorize request to the client, in the response mode of the request, always with the issuer
 * (RFC 9207).
 */

import type { FastifyReply } from 'fastify'
import type { ProtocolVisit } from '#server/sign-in/waiting/round-trip.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { OAuthError } from '../errors.ts'
import type { Target } from './check-request.ts'
import type { ResponseMode } from './response-modes/mode.ts'

export type Answer = (
  visit: ProtocolVisit,
  client: TokenClient,
  target: Target,
  outcome: { readonly code: string } | OAuthError,
) => Promise<FastifyReply>

export const createAnswer =
  (modes: readonly ResponseMode[]): Answer =>
  async ({ request, reply, issuer }, client, { redirectUri, responseMode, state }, outcome) => {
    const mode = modes.find(({ name }) => name === responseMode)
    if (!mode) throw new Error(`there is no response mode ${responseMode}`)
    const failed = outcome instanceof Error
    if (failed)
      request.log.info(
        { error: outcome.code, detail: outcome.options.detail, err: outcome.cause },
        'authorization refused',
      )
    const parameters = {
      ...(failed
        ? { error: outcome.code, error_description: outcome.message }
        : { code: outcome.code }),
      ...(state === undefined ? {} : { state }),
      iss: issuer.url,
    }
    return mode.send({ issuer, client, redirectUri, parameters }, request, reply)
  }
