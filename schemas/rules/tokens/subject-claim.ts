/** The subject strategy: one that reads an attribute says which. */

import { SubjectClaim, type SubjectClaimDoc } from '../../kinds/tokens/subject-claim.ts'
import { ruleFor } from '../rule.ts'

export const subjectClaim = ruleFor<SubjectClaimDoc>(SubjectClaim, ({ strategy, attribute }) =>
  strategy === 'attribute' && attribute === undefined
    ? [{ field: '/attribute', code: 'required', message: 'is required for this strategy' }]
    : [],
)
