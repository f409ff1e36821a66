/**
 * Holds while one factor is proved; also where two are, of which an administrator has proved none here: an identity provider
 * alone admits no administrator (docs/decisions/identity-providers-and-administrators.md).
 */

import { isEnough, levelOf, twoFactors } from '../flow/levels.ts'
import type { Condition } from '../flow/step.ts'
import type { Administrators } from '../messages/administrators.ts'

export const oneFactor = ({
  administrators,
}: {
  readonly administrators: Pick<Administrators, 'needsMore'>
}): Condition => ({
  id: 'condition-one-factor',
  holds: async (context) =>
    !isEnough(levelOf(context.state.amr), twoFactors) || (await administrators.needsMore(context)),
})
