/** An endpoint of the protocol below `/realms/{realm}`. Metadata is derived from the list of them. */

import type { FastifyInstance } from 'fastify'

export interface Endpoint {
  /** Below the issuer, such as `/token`. */
  readonly path: string
  /** Its member in the metadata (RFC 8414 §2), such as `token_endpoint`. */
  readonly member?: string
  /** What else it adds to the metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Adds its routes, preflights included. */
  routes(app: FastifyInstance): void
}

export const urlOf = (path: string): string => `/realms/:realm${path}`
