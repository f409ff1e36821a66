/** Client-initiated backchannel authentication (CIBA Core §10.1): the client asks until its user has decided. */

import type { DecoupledRequests } from '../../decoupled/decoupled-requests.ts'
import { type ApprovedParts, createIssueApproved } from './approved.ts'
import type { Grant } from './grant.ts'

export const ciba = (parts: ApprovedParts, requests: DecoupledRequests): Grant => {
  const issueApproved = createIssueApproved(parts, requests)
  return {
    name: 'CIBA',
    event: 'CODE_TO_TOKEN',
    readsScope: true,
    parameters: { auth_req_id: 'What the backchannel authentication endpoint answered.' },
    handle: async (context) => {
      const { issuer, form } = context
      return issueApproved(context, await requests.find(issuer.name, form.require('auth_req_id')))
    },
  }
}
