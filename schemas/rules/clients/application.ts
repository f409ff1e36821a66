/** Applications: the client it names is of its type. */

import { Application, type ApplicationDoc } from '../../kinds/clients/application.ts'
import { ruleFor } from '../rule.ts'

export const application = ruleFor<ApplicationDoc>(Application, ({ type, clientId, entityId }) => {
  const [field, wrong] = type === 'OIDC' ? ['/entityId', entityId] : ['/clientId', clientId]
  return wrong === undefined
    ? []
    : [{ field, code: 'exclusive', message: `does not belong to an application of type ${type}` }]
})
