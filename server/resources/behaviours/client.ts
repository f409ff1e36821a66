/** Clients: the secret that a confidential one gets. */

import type { ClientDoc } from '#schemas/kinds/client.ts'
import { usesSecret } from '#schemas/rules/made-secrets.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Behaviour, Prepared } from '../behaviour.ts'
import { type Draft, draftValue } from '../drafts.ts'

const prepared = (draft: Draft): Prepared => {
  const has = '/secret' in draft.secrets || '/secret' in draft.sealed
  if (draft.body === null || has || !usesSecret(draftValue<ClientDoc>(draft))) return {}
  const secret = randomToken(32)
  return { secrets: { '/secret': secret }, answer: { secret } }
}

export const client: Behaviour = {
  prepare: async (drafts) => ({ prepared: drafts.map(prepared) }),
}
