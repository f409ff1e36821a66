/** Whether a request comes from a browser that shows what it gets, at an address that programs call too. */

import type { FastifyRequest } from 'fastify'

/** A browser names HTML; what takes anything (a wildcard, RFC 9110 §12.5.1) is no browser. */
export const wantsPage = ({ headers }: FastifyRequest): boolean =>
  /\btext\/html\b/i.test(headers.accept ?? '')
