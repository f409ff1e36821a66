/** Every requested resource (RFC 8707) is one that the client may use. */

import { allowedResources } from '#server/tokens/access/audience.ts'
import type { Step } from '../../authorize-request.ts'

export const resource: Step = ({ client, parameters }) => ({
  resources: allowedResources(client, parameters.all('resource')),
})
