/** Another client, or any name, in the audience of access tokens. */

import type { ClaimMapper } from './mapper.ts'

export const audience: ClaimMapper = {
  id: 'oidc-audience-mapper',
  audiences: ({ config }) =>
    [config['included.client.audience'], config['included.custom.audience']].filter(
      (one): one is string => one !== undefined && one !== '',
    ),
}
