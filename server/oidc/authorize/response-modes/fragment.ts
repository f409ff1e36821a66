/** The answer in the fragment of the redirect URI: it does not reach the client's server by itself. */

import type { ResponseMode } from './mode.ts'

export const fragment: ResponseMode = {
  name: 'fragment',
  send: async ({ redirectUri, parameters }, _request, reply) =>
    reply
      .code(303)
      .header('location', `${redirectUri}#${new URLSearchParams(parameters)}`)
      .send(),
}
