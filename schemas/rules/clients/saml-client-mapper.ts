/** Attribute mappers of service providers: every setting is one that the mapper reads. */

import { userProperties } from '../../drivers/claim-mappers.ts'
import { samlMapperChoices, samlMappers } from '../../drivers/saml.ts'
import {
  SamlClientMapper,
  type SamlClientMapperDoc,
} from '../../kinds/clients/saml-client-mapper.ts'
import { ruleFor } from '../rule.ts'
import { settingErrors, wrongChoice } from '../tokens/mapper-settings.ts'

export const samlClientMapper = ruleFor<SamlClientMapperDoc>(
  SamlClientMapper,
  ({ protocolMapper, config }) => {
    const errors = settingErrors(
      protocolMapper,
      samlMappers[protocolMapper],
      config,
      samlMapperChoices,
    )
    const property = config['user.attribute'] ?? ''
    const isProperty: boolean = userProperties.some((one) => one === property)
    if (protocolMapper === 'saml-user-property-mapper' && property !== '' && !isProperty)
      errors.push(wrongChoice('user.attribute', userProperties))
    return errors
  },
)
