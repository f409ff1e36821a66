/** A public client names itself and proves nothing (RFC 6749 §3.2.1); its code is bound by PKCE. */

import { type ClientAuthMethod, wrongCredentials } from './method.ts'

export const none: ClientAuthMethod = {
  name: 'none',
  suits: ({ publicClient }) => publicClient,
  verify: async ({ client }) => (client ? undefined : wrongCredentials),
  presented: ({ headers: { authorization } }, form) => {
    const clientId = form.get('client_id')
    const proves = form.get('client_secret') ?? form.get('client_assertion') ?? authorization
    return clientId === undefined || proves !== undefined ? undefined : { clientId, credential: '' }
  },
}
