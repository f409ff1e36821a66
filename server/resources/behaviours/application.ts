/** Applications: the client it names is of its type. */

import type { ApplicationDoc } from '#schemas/kinds/application.ts'
import type { Behaviour } from '../behaviour.ts'
import { draftValue } from '../drafts.ts'

export const application: Behaviour = {
  check: (draft) => {
    const { type, clientId, entityId } = draftValue<ApplicationDoc>(draft)
    const [field, wrong] = type === 'OIDC' ? ['/entityId', entityId] : ['/clientId', clientId]
    return wrong === undefined
      ? []
      : [{ field, code: 'exclusive', message: `does not belong to an application of type ${type}` }]
  },
}
