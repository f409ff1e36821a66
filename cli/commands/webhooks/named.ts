/** The webhook that a command is about. */

import { argument } from '../../invocation/operand.ts'

export const webhookArgument = argument('<webhook>', 'name or id of the webhook')
