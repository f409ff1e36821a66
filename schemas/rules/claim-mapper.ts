/** Claim mappers: every setting is one that the mapper reads, so that none is stored and ignored. */

import {
  claimMappers,
  type MapperSettings,
  mapperChoices,
  userProperties,
} from '../drivers/claim-mappers.ts'
import { Claim, type ClaimDoc } from '../kinds/claim.ts'
import { ClientMapper, type ClientMapperDoc } from '../kinds/client-mapper.ts'
import type { FieldError } from '../problems.ts'
import { nearest } from '../text/typos.ts'
import { ruleFor } from './rule.ts'

type MapperDoc = ClaimDoc | ClientMapperDoc

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

const wrongChoice = (setting: string, choices: readonly string[]): FieldError => ({
  field: fieldOf(setting),
  code: 'enum',
  message: `must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}`,
})

const check = ({ protocolMapper, config }: MapperDoc): FieldError[] => {
  const { required, optional }: MapperSettings = claimMappers[protocolMapper]
  const known = [...required, ...optional]
  const errors: FieldError[] = required
    .filter((setting) => (config[setting] ?? '') === '')
    .map((setting) => ({
      field: fieldOf(setting),
      code: 'required',
      message: `is required for ${protocolMapper}`,
    }))
  for (const [setting, value] of Object.entries(config)) {
    if (!known.includes(setting)) {
      errors.push(unknownSetting(setting, protocolMapper, known))
      continue
    }
    const choices = Object.hasOwn(mapperChoices, setting) ? mapperChoices[setting] : undefined
    if (choices && !choices.includes(value)) errors.push(wrongChoice(setting, choices))
  }
  const property = config['user.attribute'] ?? ''
  const isProperty: boolean = userProperties.some((one) => one === property)
  if (protocolMapper === 'oidc-usermodel-property-mapper' && property !== '' && !isProperty)
    errors.push(wrongChoice('user.attribute', userProperties))
  return errors
}

export const claim = ruleFor<ClaimDoc>(Claim, check)
export const clientMapper = ruleFor<ClientMapperDoc>(ClientMapper, check)
