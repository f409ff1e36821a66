/** Settings: limits that must agree with each other, and a sign-in flow that can be one. */

import { Settings, type SettingsDoc } from '../kinds/settings.ts'
import { Flow } from '../kinds/sign-in/flow.ts'
import type { FieldError } from '../problems.ts'
import { patternProblem } from '../text/linear-pattern.ts'
import { ruleFor } from './rule.ts'
import { flowSettings, namedFlowErrors } from './sign-in/flow-bindings.ts'

export const settings = ruleFor<SettingsDoc>(
  Settings,
  (value, _key, context) => {
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
    errors.push(...flowSettings.flatMap((field) => namedFlowErrors(context, field, value[field])))
    return errors
  },
  [],
  [Flow],
)
