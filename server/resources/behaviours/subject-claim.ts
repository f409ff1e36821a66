/** The subject strategy: pairwise subjects need a salt, which is made where none is given (OIDC Core §8.1). */

import type { SubjectClaimDoc } from '#schemas/kinds/subject-claim.ts'
import { randomToken } from '#server/platform/random.ts'
import type { Behaviour } from '../behaviour.ts'
import { draftValue } from '../drafts.ts'

export const subjectClaim: Behaviour = {
  prepare: async (draft) => {
    const has = draft.before?.secrets['/salt'] !== undefined || '/salt' in draft.secrets
    if (draft.body === null || has || draftValue<SubjectClaimDoc>(draft).strategy !== 'pairwise')
      return {}
    return { secrets: { '/salt': randomToken(32) } }
  },
}
