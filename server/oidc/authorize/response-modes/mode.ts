/** A response mode: how the answer to an authorize request travels back to the client (OAuth 2.0 Multiple Response Types §2.1). */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'

export interface AuthorizeAnswer {
  readonly issuer: Issuer
  readonly client: TokenClient
  /** Already found to be one of the client's. */
  readonly redirectUri: string
  /** `code` or `error` …, with `state` and `iss` (RFC 9207). */
  readonly parameters: Readonly<Record<string, string>>
}

export interface ResponseMode {
  readonly name: string
  send(answer: AuthorizeAnswer, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}
