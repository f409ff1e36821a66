/** Settings: limits that must agree with each other, and a sign-in flow that can be one. */

import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { FieldError } from '#schemas/problems.ts'
import type { Behaviour } from '../behaviour.ts'
import { draftValue } from '../drafts.ts'

export const settings: Behaviour = {
  check: (draft, drafts) => {
    const value = draftValue<SettingsDoc>(draft)
    const errors: FieldError[] = []
    if (value.passwordPolicy.maxLength < value.passwordPolicy.length)
      errors.push({
        field: '/passwordPolicy/maxLength',
        code: 'range',
        message: 'must not be less than length',
      })
    if (value.ssoSessionMaxLifespan < value.ssoSessionIdleTimeout)
      errors.push({
        field: '/ssoSessionMaxLifespan',
        code: 'range',
        message: 'must not be less than ssoSessionIdleTimeout',
      })
    const flow = drafts.find('flow', value.browserFlow)
    if (flow && flow.body?.['topLevel'] === false)
      errors.push({
        field: '/browserFlow',
        code: 'sub-flow',
        message: 'names a flow that only runs inside others',
      })
    return errors
  },
}
