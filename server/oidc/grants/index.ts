/** THE list of grants. */

import type { OidcParts } from '../parts.ts'
import { clientCredentials } from './client-credentials.ts'
import type { Grant } from './grant.ts'

export const createGrants = (_parts: OidcParts): readonly Grant[] => [clientCredentials]
