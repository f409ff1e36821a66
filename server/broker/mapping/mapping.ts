/**
 * What a sign-in through a provider changes of the user, by `syncMode`: IMPORT at the first sign-in; FORCE at every one, and
 * what the provider withdraws goes; LEGACY at every one, and nothing goes. Declared users are left alone: their file says
 * what they have. Memberships that were given by hand stay (`mapped-memberships.ts`).
 *
 * A provider gives no role and no group with an admin permission: a holder of `manage-identity-providers` chooses what it says
 * (docs/decisions/identity-providers-and-administrators.md).
 */

import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import type { UserFields } from '#schemas/wire/records.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import {
  giveMapped,
  type MappedTarget,
  mappedTo,
  withdrawMapped,
} from '#server/users/links/mapped-memberships.ts'
import { mappedProfile } from '#server/users/links/mapped-profile.ts'
import type { Ranks } from '#server/users/permissions.ts'
import { fieldsOf } from '#server/users/user-record.ts'
import type { Provider, UpstreamIdentity } from '../protocol.ts'
import { type Mapped, mappedOf } from './mappers.ts'

type Attributes = UserFields['attributes']
type MappingProvider = Pick<Provider, 'id' | 'doc'>

const names = ['firstName', 'lastName'] as const

const isName = (name: string): name is (typeof names)[number] => names.some((one) => one === name)

const sameTarget = (a: MappedTarget, b: MappedTarget): boolean =>
  a.kind === b.kind && a.target_id === b.target_id

/** Attributes by what the mappers say; those without a value go where the mode says so. */
const attributesAfter = (before: Attributes, mapped: readonly Mapped[]): Attributes => {
  const after: Record<string, readonly string[]> = { ...before }
  for (const { mode, attribute } of mapped) {
    if (!attribute || isName(attribute.name)) continue
    if (attribute.values.length > 0) after[attribute.name] = attribute.values
    else if (mode === 'FORCE') delete after[attribute.name]
  }
  return after as Attributes
}

const namesFrom = (
  mapped: readonly Mapped[],
): Partial<Pick<UserFields, 'firstName' | 'lastName'>> => {
  const found: Partial<Record<'firstName' | 'lastName', string>> = {}
  for (const { attribute } of mapped) {
    const [value] = attribute?.values ?? []
    if (attribute && value !== undefined && isName(attribute.name)) found[attribute.name] = value
  }
  return found
}

export const createMapping = ({
  storage,
  clock,
  ranks,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly ranks: Pick<Ranks, 'permissionsOfRoles' | 'permissionsOfGroup'>
}) => {
  const grantsPermission = async (
    view: RealmView,
    { kind, target_id: id }: MappedTarget,
  ): Promise<boolean> => {
    if (kind === Group.kind) return (await ranks.permissionsOfGroup(view, id)).size > 0
    const role = kind === Role.kind ? await view.byId(kind, id) : undefined
    return role !== undefined && (await ranks.permissionsOfRoles(view, [role])).size > 0
  }

  /** Those of `mapped` that a provider may give. */
  const givable = async <T extends { readonly target: MappedTarget }>(
    view: RealmView,
    mapped: readonly T[],
  ): Promise<T[]> => {
    const grants = await Promise.all(mapped.map(({ target }) => grantsPermission(view, target)))
    return mapped.filter((_, index) => !grants[index])
  }

  /** Given ones, and those that the provider has withdrawn. */
  const memberships = async (
    view: RealmView,
    provider: MappingProvider,
    user: UserRow,
    mapped: readonly Mapped[],
    isFirst: boolean,
  ): Promise<Statement[]> => {
    const all = mapped.flatMap(({ mode, membership }) =>
      membership ? [{ mode, ...membership }] : [],
    )
    const wanted = all.filter(({ isGiven }) => isGiven)
    const due = wanted.filter(({ mode }) => isFirst || mode !== 'IMPORT')
    const given = await givable(view, due)
    const mayWithdraw = [provider.doc.syncMode, ...all.map(({ mode }) => mode)].includes('FORCE')
    const recorded = mayWithdraw ? await mappedTo(storage, user.id, provider.id) : []
    const withdrawn = recorded.filter((row) => {
      if (wanted.some(({ target }) => sameTarget(target, row))) return false
      const about = all.filter(({ target }) => sameTarget(target, row))
      // Of a mapper that is gone, the provider decides.
      return about.length === 0
        ? provider.doc.syncMode === 'FORCE'
        : about.every(({ mode }) => mode === 'FORCE')
    })
    const now = clock.now()
    return [
      ...given.flatMap(({ target }) => giveMapped(storage, user.id, provider.id, target, now)),
      ...withdrawn.flatMap((row) => withdrawMapped(storage, user.id, provider.id, row, now)),
    ]
  }

  return {
    /** To be committed with the sign-in, after the statements that make the user where it is the first. */
    signedIn: async (
      view: RealmView,
      provider: MappingProvider,
      identity: UpstreamIdentity,
      user: UserRow,
      { isFirst }: { readonly isFirst: boolean },
    ): Promise<Statement[]> => {
      if (user.managed === 1) return []
      const mapped = await mappedOf(view, provider, identity)
      const roles = await memberships(view, provider, user, mapped, isFirst)
      const active = mapped.filter(({ mode }) => isFirst || mode !== 'IMPORT')
      const follows = provider.doc.syncMode === 'FORCE'
      const before = fieldsOf(user)
      const said = {
        ...(follows && identity.firstName !== undefined ? { firstName: identity.firstName } : {}),
        ...(follows && identity.lastName !== undefined ? { lastName: identity.lastName } : {}),
        ...namesFrom(active),
      }
      const attributes = attributesAfter(before.attributes, active)
      const change = mappedProfile(storage, user, { ...said, attributes }, clock.now())
      return [...roles, ...change]
    },
  }
}

export type Mapping = ReturnType<typeof createMapping>
