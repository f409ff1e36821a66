/** Clients: the secret that a confidential one gets, and that one which may only plan stays so. */

import { isPlanOnly, planScope } from '#schemas/admin-access.ts'
import type { ClientDoc } from '#schemas/kinds/client.ts'
import type { FieldError } from '#schemas/problems.ts'
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

/** Nothing but a change of the client itself widens what it may do: no scope that is renamed or deleted. */
const widened = ({ named, before, body }: Draft): readonly FieldError[] =>
  !named && isPlanOnly(before?.body) && !isPlanOnly(body)
    ? [
        {
          field: '/adminAccess',
          code: 'plan-only',
          message: `may only plan because of its default scope ${planScope}, which goes; set adminAccess: plan on it first`,
        },
      ]
    : []

export const client: Behaviour = {
  check: widened,
  prepare: async (drafts) => ({ prepared: drafts.map(prepared) }),
}
