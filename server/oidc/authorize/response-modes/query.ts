/** The answer in the query of the redirect URI, which stays as it was registered, byte for byte. */

import type { ResponseMode } from './mode.ts'

export const withQuery = (uri: string, parameters: Readonly<Record<string, string>>): string =>
  `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(parameters)}`

export const query: ResponseMode = {
  name: 'query',
  send: async ({ redirectUri, parameters }, _request, reply) =>
    reply.code(303).header('location', withQuery(redirectUri, parameters)).send(),
}
