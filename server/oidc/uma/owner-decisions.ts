/** What an owner decides about a resource, written with its audit event. */

import { AuthzResource } from '#schemas/kinds/authorization/authz-resource.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { Statement } from '#server/storage/contract.ts'
import type { Place } from './protection-place.ts'

export const createWriteDecision =
  (recorder: Recorder) =>
  async (
    { issuer, client, doer, sourceIp }: Place,
    statements: readonly Statement[],
    resourceId: string,
    detail: string,
  ): Promise<void> => {
    await recorder.commit(statements, [
      {
        type: 'PERMISSION_DECISION',
        realm: issuer.name,
        ...doer,
        sourceIp,
        outcome: 'SUCCESS',
        resourceType: AuthzResource.resourceType,
        resourceId,
        detail: `${detail}, through ${client.clientId}`,
      },
    ])
  }
