/** Claim mappers: every setting is one that the mapper reads, so that none is stored and ignored. */

import { claimMappers, mapperChoices, userProperties } from '../../drivers/claim-mappers.ts'
import { ClientMapper, type ClientMapperDoc } from '../../kinds/clients/client-mapper.ts'
import { Claim, type ClaimDoc } from '../../kinds/tokens/claim.ts'
import { own } from '../../own.ts'
import type { FieldError } from '../../problems.ts'
import { ruleFor } from '../rule.ts'
import { settingErrors, wrongChoice } from './mapper-settings.ts'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const isNumber = (text: string): boolean => text.trim() !== '' && Number.isFinite(Number(text))

/** By `jsonType.label`: whether the text is of that type. A claim of another one would be left out of every token. */
const ofType: Readonly<
  Record<string, { readonly test: (text: string) => boolean; readonly is: string }>
> = {
  int: { test: isNumber, is: 'a number' },
  long: { test: isNumber, is: 'a number' },
  boolean: { test: (text) => text === 'true' || text === 'false', is: '"true" or "false"' },
  JSON: { test: isJson, is: 'JSON' },
}

/** What the mapper would add to no token. */
const idleErrors = ({ protocolMapper, config }: ClaimDoc | ClientMapperDoc): FieldError[] => {
  const errors: FieldError[] = []
  const value = config['claim.value'] ?? ''
  const type = own(ofType, config['jsonType.label'] ?? '')
  if (
    protocolMapper === 'oidc-hardcoded-claim-mapper' &&
    value !== '' &&
    type?.test(value) === false
  )
    errors.push({
      field: '/config/claim.value',
      code: 'format',
      message: `must be ${type.is}, as jsonType.label says`,
    })
  const audiences = ['included.client.audience', 'included.custom.audience']
  if (protocolMapper === 'oidc-audience-mapper' && audiences.every((one) => !config[one]))
    errors.push({
      field: `/config/${audiences[0]}`,
      code: 'required',
      message: `is required for ${protocolMapper}, or else ${audiences[1]}`,
    })
  return errors
}

const check = (doc: ClaimDoc | ClientMapperDoc): FieldError[] => {
  const { protocolMapper, config } = doc
  const errors = settingErrors(protocolMapper, claimMappers[protocolMapper], config, mapperChoices)
  const property = config['user.attribute'] ?? ''
  const isProperty: boolean = userProperties.some((one) => one === property)
  if (protocolMapper === 'oidc-usermodel-property-mapper' && property !== '' && !isProperty)
    errors.push(wrongChoice('user.attribute', userProperties))
  return [...errors, ...idleErrors(doc)]
}

export const claim = ruleFor<ClaimDoc>(Claim, check)
export const clientMapper = ruleFor<ClientMapperDoc>(ClientMapper, check)
