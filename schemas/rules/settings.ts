/** Settings: limits that must agree with each other, and a sign-in flow that can be one. */

import { Flow } from '../kinds/flow.ts'
import { Settings, type SettingsDoc } from '../kinds/settings.ts'
import type { FieldError } from '../problems.ts'
import { ruleFor } from './rule.ts'

export const settings = ruleFor<SettingsDoc>(Settings, (value, _key, { find }) => {
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
  if (find(Flow.kind, value.browserFlow)?.['topLevel'] === false)
    errors.push({
      field: '/browserFlow',
      code: 'sub-flow',
      message: 'names a flow that only runs inside others',
    })
  return errors
})
