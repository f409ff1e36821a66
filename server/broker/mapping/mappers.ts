/** The mappers of a provider, and what they make of an identity: attributes, roles and groups. */

import { ClientRole } from '#schemas/kinds/clients/client-role.ts'
import {
  IdentityProviderMapper,
  type IdentityProviderMapperDoc,
} from '#schemas/kinds/sign-in/identity-provider-mapper.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { own } from '#schemas/own.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { MappedTarget } from '#server/users/links/mapped-memberships.ts'
import type { Provider, UpstreamIdentity } from '../protocol.ts'

export type SyncMode = 'IMPORT' | 'FORCE' | 'LEGACY'

/** One mapper and what it says about this identity. */
export interface Mapped {
  readonly mode: SyncMode
  /** The attribute and its values; none where the provider sends no such claim. */
  readonly attribute?: { readonly name: string; readonly values: readonly string[] }
  /** The role or group, and whether this identity gets it. */
  readonly membership?: { readonly target: MappedTarget; readonly isGiven: boolean }
}

const matches = (
  { claim, value }: IdentityProviderMapperDoc,
  { attributes }: Pick<UpstreamIdentity, 'attributes'>,
): boolean => {
  if (claim === undefined) return true
  const values = own(attributes, claim) ?? []
  return value === undefined ? values.length > 0 : values.includes(value)
}

const targetOf = async (
  view: RealmView,
  { role, clientRole, group }: IdentityProviderMapperDoc,
): Promise<MappedTarget | undefined> => {
  const found =
    role !== undefined
      ? await view.get(Role.kind, role)
      : clientRole !== undefined
        ? await view.get(ClientRole.kind, clientRole)
        : await view.get(Group.kind, group ?? '')
  return found && { kind: found.kind, target_id: found.id }
}

export const mappedOf = async (
  view: RealmView,
  provider: Pick<Provider, 'id' | 'doc'>,
  identity: Pick<UpstreamIdentity, 'attributes'>,
): Promise<readonly Mapped[]> => {
  const all = await view.list(IdentityProviderMapper.kind)
  const mappers = all.filter(({ parentId }) => parentId === provider.id)
  const mapped = await Promise.all(
    mappers.map(async (document): Promise<Mapped[]> => {
      const doc = contentOf<IdentityProviderMapperDoc>(document)
      const mode = doc.syncMode === 'INHERIT' ? provider.doc.syncMode : doc.syncMode
      if (doc.type === 'attribute') {
        const values = own(identity.attributes, doc.claim ?? '') ?? []
        return [{ mode, attribute: { name: doc.attribute ?? '', values } }]
      }
      const target = await targetOf(view, doc)
      return target ? [{ mode, membership: { target, isGiven: matches(doc, identity) } }] : []
    }),
  )
  return mapped.flat()
}
