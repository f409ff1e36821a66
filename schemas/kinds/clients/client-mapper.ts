import type { Static } from 'typebox'
import { defineKind } from '../../kind.ts'
import { claimMapper as spec } from '../tokens/claim.ts'

export type ClientMapperDoc = Static<typeof spec>

export const ClientMapper = defineKind({
  kind: 'client-mapper',
  shape: 'child',
  section: 'mappers',
  path: '/clients/{client}/mappers',
  pathKey: 'id',
  key: 'name',
  permission: { read: 'view-clients', write: 'manage-authorization' },
  prune: 'allowed',
  doc: 'A protocol mapper: puts a value into the tokens of one client.',
  spec,
})
