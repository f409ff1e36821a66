/** Claim mappers: every setting is one that the mapper reads, so that none is stored and ignored. */

import { claimMappers, mapperChoices, userProperties } from '../../drivers/claim-mappers.ts'
import { ClientMapper, type ClientMapperDoc } from '../../kinds/clients/client-mapper.ts'
import { Claim, type ClaimDoc } from '../../kinds/tokens/claim.ts'
import type { FieldError } from '../../problems.ts'
import { ruleFor } from '../rule.ts'
import { settingErrors, wrongChoice } from './mapper-settings.ts'

const check = ({ protocolMapper, config }: ClaimDoc | ClientMapperDoc): FieldError[] => {
  const errors = settingErrors(protocolMapper, claimMappers[protocolMapper], config, mapperChoices)
  const property = config['user.attribute'] ?? ''
  const isProperty: boolean = userProperties.some((one) => one === property)
  if (protocolMapper === 'oidc-usermodel-property-mapper' && property !== '' && !isProperty)
    errors.push(wrongChoice('user.attribute', userProperties))
  return errors
}

export const claim = ruleFor<ClaimDoc>(Claim, check)
export const clientMapper = ruleFor<ClientMapperDoc>(ClientMapper, check)
