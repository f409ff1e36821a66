/** Clients: the secret that a confidential one gets. */

import type { ClientDoc } from '#schemas/kinds/client.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Behaviour } from '../behaviour.ts'
import { draftValue } from '../drafts.ts'

const usesSecret = (client: ClientDoc): boolean =>
  !client.publicClient && client.tokenEndpointAuthMethod.startsWith('client_secret')

export const client: Behaviour = {
  prepare: async (draft) => {
    const given = draft.secrets['/secret']
    const has = draft.before?.secrets['/secret'] !== undefined
    if (
      draft.body === null ||
      !usesSecret(draftValue<ClientDoc>(draft)) ||
      given !== undefined ||
      has
    )
      return {}
    const secret = randomToken(32)
    return { secrets: { '/secret': secret }, answer: { secret } }
  },
}
