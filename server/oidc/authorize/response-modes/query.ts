/** The answer in the query of the redirect URI, which stays as it was registered, byte for byte. */

import { withQuery } from '#server/http/query.ts'
import type { ResponseMode } from './mode.ts'

export const query: ResponseMode = {
  name: 'query',
  send: async ({ redirectUri, parameters }, _request, reply) =>
    reply
      .code(303)
      .header('location', withQuery(redirectUri, new URLSearchParams(parameters)))
      .send(),
}
