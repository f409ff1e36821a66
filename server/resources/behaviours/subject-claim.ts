/** The subject strategy: pairwise subjects need a salt, which is made where none is given (OIDC Core §8.1). */

import type { SubjectClaimDoc } from '#schemas/kinds/subject-claim.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Behaviour, Prepared } from '../behaviour.ts'
import { type Draft, draftValue } from '../drafts.ts'

const prepared = (draft: Draft): Prepared => {
  const has = '/salt' in draft.sealed || '/salt' in draft.secrets
  return draft.body === null || has || draftValue<SubjectClaimDoc>(draft).strategy !== 'pairwise'
    ? {}
    : { secrets: { '/salt': randomToken(32) } }
}

export const subjectClaim: Behaviour = {
  prepare: async (drafts) => ({ prepared: drafts.map(prepared) }),
}
