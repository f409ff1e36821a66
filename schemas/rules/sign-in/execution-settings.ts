/** Settings of authenticators: each is one that the authenticator reads, in a form that it understands. */

import {
  type AuthenticatorSetting,
  listOf,
  settingsOf,
} from '../../drivers/authenticator-settings.ts'
import { authenticatorIds } from '../../drivers/authenticators.ts'
import { pointerSegment } from '../../json-schema.ts'
import type { FlowDoc } from '../../kinds/sign-in/flow.ts'
import type { FieldError } from '../../problems.ts'
import { nearest } from '../../text/typos.ts'

type Execution = FlowDoc['authenticationExecutions'][number]

const whyUnknown = (name: string, authenticator: string): string => {
  const known = settingsOf(authenticator).map((setting) => setting.name)
  if (known.length === 0) return `${authenticator} has no settings: leave it out`
  const meant = nearest(name, known)
  const hint = meant === undefined ? `it takes ${known.join(', ')}` : `did you mean ${meant}?`
  return `is no setting of ${authenticator}; ${hint}`
}

const valueError = (
  { choices, form, list, required }: AuthenticatorSetting,
  value: string,
): Omit<FieldError, 'field'> | undefined => {
  const values = list ? listOf(value) : [value]
  if (list && required && values.length === 0)
    return { code: 'required', message: 'must have a value: the condition never holds without' }
  if (choices && !values.every((one) => choices.includes(one))) {
    const among = choices.map((choice) => `"${choice}"`).join(', ')
    return { code: 'enum', message: `must be ${list ? 'some' : 'one'} of ${among}` }
  }
  return form === undefined || values.every(form.test)
    ? undefined
    : { code: 'format', message: form.message }
}

export const executionSettingErrors = (
  { authenticator, flowAlias, authenticatorConfig }: Execution,
  field: string,
): FieldError[] => {
  const given = Object.entries(authenticatorConfig)
  const fieldOf = (name: string) => `${field}/authenticatorConfig/${pointerSegment(name)}`
  if (flowAlias !== undefined)
    return given.map(([name]) => ({
      field: fieldOf(name),
      code: 'unknown-field',
      message: 'is not read: a sub-flow has no settings',
    }))
  if (authenticator === undefined || !authenticatorIds.has(authenticator)) return []
  const settings = settingsOf(authenticator)
  const missing = settings
    .filter(({ name, required }) => required && authenticatorConfig[name] === undefined)
    .map(({ name }) => ({
      field: fieldOf(name),
      code: 'required',
      message: `is required for ${authenticator}, which never holds without`,
    }))
  const wrong = given.flatMap(([name, value]): FieldError[] => {
    const setting = settings.find((one) => one.name === name)
    if (setting === undefined)
      return [
        { field: fieldOf(name), code: 'unknown-field', message: whyUnknown(name, authenticator) },
      ]
    const error = valueError(setting, value)
    return error === undefined ? [] : [{ field: fieldOf(name), ...error }]
  })
  return [...missing, ...wrong]
}
