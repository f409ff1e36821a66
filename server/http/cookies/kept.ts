/** Whether a browser keeps cookies. */

import type { FastifyRequest } from 'fastify'

/**
 * A form comes back with the cookies of its page, and a browser that another site or page of ours sends here has got some on
 * the way. An address that is typed or bookmarked may be the first that a browser opens (Sec-Fetch-Site: none).
 */
export const keepsNoCookies = ({ cookies, headers, method }: FastifyRequest): boolean => {
  const { 'sec-fetch-site': from = 'none' } = headers
  return Object.keys(cookies ?? {}).length === 0 && (method === 'POST' || from !== 'none')
}
