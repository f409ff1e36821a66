/** A client authentication method (RFC 6749 §2.3, RFC 7523, OIDC Core §9). */

import type { FastifyRequest } from 'fastify'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Parameters } from '../parameters.ts'
import type { ClientAuthMethodName } from '../vocabulary.ts'

export interface Presented {
  readonly clientId: string
  /** A secret or an assertion; empty where nothing is proven. */
  readonly credential: string
}

export interface Attempt {
  readonly issuer: Issuer
  /** Undefined for an unknown client: the same work is done, and the request refused. */
  readonly client: TokenClient | undefined
  readonly credential: string
  /** The address that the request came to, without a query. */
  readonly endpointOf: () => string
}

/** Where more would help only an attacker. */
export const wrongCredentials = 'its credentials are wrong'

export interface ClientAuthMethod {
  readonly name: ClientAuthMethodName
  /** What the request presents this way; undefined where it uses another. Throws where it is malformed. */
  presented(request: FastifyRequest, form: Parameters): Presented | undefined
  /** Whether a client that is registered like this may use it. */
  suits(client: ClientDoc): boolean
  /** What is wrong, for the log and the audit event alone; undefined where the client has proven itself. */
  verify(attempt: Attempt): Promise<string | undefined>
  /** Where the realm has to be set up for it; every realm offers the others. */
  isOffered?(settings: SettingsDoc): boolean
  /** What assertions may be signed with. */
  readonly algorithms?: readonly string[]
}
