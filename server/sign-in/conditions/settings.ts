/** `negate: 'true'` inverts any condition. */

import type { Condition, StepContext } from '../flow/step.ts'

export const negatable = ({ id, holds }: Condition): Condition => ({
  id,
  holds: async (context: StepContext) =>
    (await holds(context)) !== (context.execution.config['negate'] === 'true'),
})
