/** THE list of claim mappers. */

import type { ClaimMapperId } from '#schemas/drivers/claim-mappers.ts'
import { address } from './address.ts'
import { attribute } from './attribute.ts'
import { audience } from './audience.ts'
import { fullName } from './full-name.ts'
import { groups } from './groups.ts'
import { hardcoded } from './hardcoded.ts'
import type { ClaimMapper } from './mapper.ts'
import { property } from './property.ts'
import { clientRoles, realmRoles } from './roles.ts'

const list: readonly ClaimMapper[] = [
  attribute,
  property,
  hardcoded,
  audience,
  realmRoles,
  clientRoles,
  groups,
  fullName,
  address,
]

const byId: ReadonlyMap<string, ClaimMapper> = new Map(list.map((mapper) => [mapper.id, mapper]))

export const claimMapper = (id: ClaimMapperId): ClaimMapper | undefined => byId.get(id)
