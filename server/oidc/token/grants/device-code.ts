/** The device grant (RFC 8628 §3.4): the device polls until the user has decided on another screen. */

import type { DecoupledRequests } from '../../decoupled/decoupled-requests.ts'
import { type ApprovedParts, createIssueApproved } from './approved.ts'
import type { Grant } from './grant.ts'

export const deviceCode = (parts: ApprovedParts, requests: DecoupledRequests): Grant => {
  const issueApproved = createIssueApproved(parts, requests)
  return {
    name: 'device',
    event: 'CODE_TO_TOKEN',
    readsScope: true,
    parameters: { device_code: 'What the device authorization endpoint answered.' },
    handle: async (context) => {
      const { issuer, form } = context
      return issueApproved(context, await requests.find(issuer.name, form.require('device_code')))
    },
  }
}
