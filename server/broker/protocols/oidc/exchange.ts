/** The token request with a code, and with a refresh token (RFC 6749 §4.1.3, §6). */

import type { Clock } from '#server/platform/clock.ts'
import { type Provider, UpstreamRefused } from '../../protocol.ts'
import { type Ask, objectIn } from './answers.ts'
import { textOf } from './claims.ts'
import type { ClientProofOf } from './client-authentication.ts'
import type { Upstream } from './upstream.ts'
import type { Vendor } from './vendor.ts'

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string | undefined
  readonly idToken?: string | undefined
  /** Epoch milliseconds. */
  readonly expiresAt?: number | undefined
  /** The origin of the token endpoint. */
  readonly givenBy: string
}

/** Its `error` is a word of the protocol; its description is not passed on. */
const errorIn = (text: string): string =>
  /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1] ?? 'error'

export const createExchange =
  ({
    ask,
    clock,
    clientProof,
  }: {
    readonly ask: Ask
    readonly clock: Clock
    readonly clientProof: ClientProofOf
  }) =>
  async (
    provider: Provider,
    vendor: Vendor,
    upstream: Upstream,
    grant: Readonly<Record<string, string>>,
  ): Promise<Tokens> => {
    const { headers, fields } = await clientProof(provider, vendor, upstream)
    const answer = await ask('the token endpoint', {
      url: upstream.tokenUrl,
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ ...grant, ...fields }).toString(),
    })
    if (answer.status >= 400 && answer.status < 500)
      throw new UpstreamRefused(
        'invalid-answer',
        `the token endpoint refuses: ${errorIn(answer.text)}`,
      )
    const body = objectIn('the token response', answer)
    // GitHub refuses with status 200.
    if (body['error'] !== undefined)
      throw new UpstreamRefused(
        'invalid-answer',
        `the token endpoint refuses: ${errorIn(answer.text)}`,
      )
    const accessToken = textOf(body['access_token'])
    const type = textOf(body['token_type'])?.toLowerCase()
    if (accessToken === undefined || type !== 'bearer')
      throw new UpstreamRefused('invalid-answer', 'the token response has no bearer token')
    const expiresIn = Number(body['expires_in'])
    return {
      accessToken,
      refreshToken: textOf(body['refresh_token']),
      idToken: textOf(body['id_token']),
      givenBy: new URL(upstream.tokenUrl).origin,
      ...(expiresIn > 0 ? { expiresAt: clock.now() + expiresIn * 1000 } : {}),
    }
  }

export type Exchange = ReturnType<typeof createExchange>
