/** The claims of the tokens of a grant about its sign-in. */

import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import type { GrantData } from '#server/tokens/grants/grants-store.ts'
import type { Authentication } from '#server/tokens/mint.ts'

export const grantAuthentication = (
  { id, sid }: TokenGrantRow,
  { authTime, acr, amr, organization }: GrantData,
): Authentication => ({ grantId: id, sid: sid ?? undefined, authTime, acr, amr, organization })
