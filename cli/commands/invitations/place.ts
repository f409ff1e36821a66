/** The organization that an invitation is into. */

import { argument } from '../../invocation/operand.ts'

export const organizationArgument = argument('<organization>', 'alias or id of the organization')
