/** Clients: the secret that a confidential one gets, that one which may only plan stays so, and the command line's its own. */

import { isPlanOnly, planScope } from '#schemas/access/admin-access.ts'
import { commandLineId } from '#schemas/access/command-line.ts'
import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { FieldError } from '#schemas/problems.ts'
import { usesSecret } from '#schemas/rules/made-secrets.ts'
import { randomToken } from '#server/platform/random.ts'
import { type Draft, draftValue } from '../write/drafts.ts'
import type { Behaviour, Prepared } from './behaviour.ts'

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

/** Under another name it could be changed, and what was issued then would count once it has its name again. */
const renamed = ({ key, before, body }: Draft): readonly FieldError[] =>
  before?.key === commandLineId &&
  before.origin === 'built-in' &&
  body !== null &&
  key !== before.key
    ? [
        {
          field: '/clientId',
          code: 'built-in',
          message: `the client ${commandLineId} is the command line's, the same in every realm: it cannot be renamed`,
        },
      ]
    : []

export const client: Behaviour = {
  check: (draft) => [...widened(draft), ...renamed(draft)],
  prepare: async (drafts) => ({ prepared: drafts.map(prepared) }),
  present: async (documents) =>
    documents.map(({ origin }) => ({ selfRegistered: origin === 'runtime' })),
}
