/** Settings: limits that must agree with each other, and a sign-in flow that can be one. */

import { Flow } from '../kinds/flow.ts'
import { Settings, type SettingsDoc } from '../kinds/settings.ts'
import { patternProblem } from '../linear-pattern.ts'
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
  const { regexPattern } = value.passwordPolicy
  const unusable = regexPattern === undefined ? undefined : patternProblem(regexPattern)
  if (unusable !== undefined)
    errors.push({
      field: '/passwordPolicy/regexPattern',
      code: 'format',
      message: `${unusable}; ask for kinds of characters with digits, lowerCase, upperCase, specialChars, for the length with length and maxLength`,
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
