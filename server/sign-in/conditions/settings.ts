/** The settings of conditions. `negate: 'true'` inverts any of them. */

import type { Condition, StepContext } from '../flow/step.ts'

export const listOf = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')

export const negatable = ({ id, holds }: Condition): Condition => ({
  id,
  holds: async (context: StepContext) =>
    (await holds(context)) !== (context.execution.config['negate'] === 'true'),
})
