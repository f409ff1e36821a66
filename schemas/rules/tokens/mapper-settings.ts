/** Mappers of claims and attributes: every setting is one that the mapper reads, so that none is stored and ignored. */

import type { FieldError } from '../../problems.ts'
import { nearest } from '../../text/typos.ts'

export interface TakenSettings {
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const fieldOf = (setting: string): string =>
  `/config/${setting.replaceAll('~', '~0').replaceAll('/', '~1')}`

const unknownSetting = (setting: string, mapper: string, known: readonly string[]): FieldError => {
  const meant = nearest(setting, known)
  const hint = meant === undefined ? `it takes ${known.join(', ')}` : `did you mean ${meant}?`
  return {
    field: fieldOf(setting),
    code: 'unknown-field',
    message: `is no setting of ${mapper}; ${hint}`,
  }
}

export const wrongChoice = (setting: string, choices: readonly string[]): FieldError => ({
  field: fieldOf(setting),
  code: 'enum',
  message: `must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}`,
})

export const settingErrors = (
  mapper: string,
  { required, optional }: TakenSettings,
  config: Readonly<Record<string, string>>,
  allChoices: Readonly<Record<string, readonly string[]>>,
): FieldError[] => {
  const known = [...required, ...optional]
  const errors: FieldError[] = required
    .filter((setting) => (config[setting] ?? '') === '')
    .map((setting) => ({
      field: fieldOf(setting),
      code: 'required',
      message: `is required for ${mapper}`,
    }))
  for (const [setting, value] of Object.entries(config)) {
    if (!known.includes(setting)) {
      errors.push(unknownSetting(setting, mapper, known))
      continue
    }
    const choices = Object.hasOwn(allChoices, setting) ? allChoices[setting] : undefined
    if (choices && !choices.includes(value)) errors.push(wrongChoice(setting, choices))
  }
  return errors
}
