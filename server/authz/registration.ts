/**
 * Resources that a resource server registers at run time (UMA 2.0 Federated Authorization §3). They are runtime documents:
 * they make no revision, and an apply neither shows nor prunes them. A resource that is configuration stays out of reach, so
 * that a resource server never causes drift.
 */

import { keyBelow } from '#schemas/kind.ts'
import {
  AuthzResource,
  type AuthzResourceDoc,
} from '#schemas/kinds/authorization/authz-resource.ts'
import { AuthzScope } from '#schemas/kinds/authorization/authz-scope.ts'
import { Problem } from '#schemas/problems.ts'
import { systemCaller } from '#server/http/caller.ts'
import { type Operation, runtimeChannel } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { Doer } from '#server/sessions/doer.ts'
import { GuardFailedError, type Statement, type Storage } from '#server/storage/contract.ts'
import { atMostChanges } from '#server/storage/documents/changes.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { AuthzLimits } from './limits.ts'

/** The resource server that writes, in whose name, and the realm as it was seen. */
export interface RegistrationPlace {
  readonly view: RealmView
  readonly client: TokenClient
  readonly doer: Doer
  readonly sourceIp: string
}

/** A registered resource, whole. */
export type ResourceFields = Omit<AuthzResourceDoc, '_id'>

export interface Registration {
  /** Answers the id; a name that is taken is a conflict. */
  create(place: RegistrationPlace, fields: ResourceFields): Promise<string>
  replace(place: RegistrationPlace, id: string, fields: ResourceFields): Promise<void>
  remove(place: RegistrationPlace, id: string): Promise<void>
}

/** The guard of what is one too many; the writer does not decide again, since what it counts by would be the same. */
const limitGuard = 'final:authz-limits'
/** Attempts; each one that fails means that concurrent writes were taken. */
const rounds = 50

export const createRegistration = ({
  storage: { db },
  writer,
  fresh,
  limits,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly writer: Writer
  readonly fresh: Copy['fresh']
  readonly limits: Pick<AuthzLimits, 'resourcesOfClient' | 'resourcesOfOwner' | 'scopesOfClient'>
}): Registration => {
  /** Each document that was added since the view is a change of its kind, and so is each that this write adds. */
  const fewChanges = (view: RealmView, kind: string, room: number): Statement =>
    atMostChanges({ db }, { ...view, kind }, room, limitGuard)

  const ofClient = async (
    kind: string,
    { view, client }: RegistrationPlace,
  ): Promise<readonly StoredDocument[]> =>
    (await view.list(kind)).filter(({ parentId }) => parentId === client.id)

  /** How many resources more there may be; throws where one is too many. */
  const roomForResource = async (
    place: RegistrationPlace,
    { owner }: ResourceFields,
    before?: StoredDocument,
  ): Promise<number> => {
    const stored = await ofClient(AuthzResource.kind, place)
    const ofAll = before ? Number.POSITIVE_INFINITY : limits.resourcesOfClient - stored.length
    if (ofAll <= 0)
      throw new Problem(
        'forbidden',
        `the resource server has ${stored.length} resources, the most that it may register: remove some`,
      )
    const ownerOf = (document: StoredDocument) => contentOf<AuthzResourceDoc>(document).owner
    if (owner === undefined) return ofAll
    const owned = stored.filter((document) => ownerOf(document) === owner).length
    // An owner who stays gains nothing, unless a concurrent write has moved the resource away: that write is a change too.
    if (before && ownerOf(before) === owner) return Math.max(1, limits.resourcesOfOwner - owned + 2)
    if (owned >= limits.resourcesOfOwner)
      throw new Problem(
        'forbidden',
        `the owner has ${owned} resources here, the most that a user may have: remove some`,
      )
    return Math.min(ofAll, limits.resourcesOfOwner - owned)
  }

  const roomForScopes = async (
    place: RegistrationPlace,
    added: readonly Operation[],
  ): Promise<number> => {
    if (added.length === 0) return Number.POSITIVE_INFINITY
    const { length } = await ofClient(AuthzScope.kind, place)
    const room = limits.scopesOfClient - length
    if (room < added.length)
      throw new Problem(
        'forbidden',
        `the resource server has ${length} scopes, and may have ${limits.scopesOfClient}: remove some`,
      )
    return room
  }

  /** Scopes that the client names for the first time come to be with the resource. */
  const newScopes = async (
    { view, client }: RegistrationPlace,
    { scopes }: ResourceFields,
  ): Promise<Operation[]> => {
    const operations: Operation[] = []
    for (const name of scopes) {
      const key = keyBelow(AuthzScope, client.clientId, name)
      if (!(await view.get(AuthzScope.kind, key)))
        operations.push({ op: 'put', kind: AuthzScope, key, doc: { name }, secrets: {} })
    }
    return operations
  }

  const write = async (
    { view, doer, sourceIp }: RegistrationPlace,
    operations: readonly Operation[],
    guards: readonly Statement[] = [],
  ) =>
    writer.write({
      realm: view.realm,
      caller: { ...systemCaller, ...doer, sourceIp },
      channel: runtimeChannel,
      operations,
      alongside: () => ({ statements: guards, events: [] }),
    })

  const registered = async ({ view, client }: RegistrationPlace, id: string) => {
    const document = await view.byId(AuthzResource.kind, id)
    if (!document || document.parentId !== client.id)
      throw new Problem('not-found', 'there is no such resource')
    if (document.origin !== 'runtime')
      throw new Problem('forbidden', 'the resource is configuration: change it there')
    return document
  }

  /** Writes a resource and its new scopes, within the limits also where others write at the same moment. */
  const writeWithin = async (seen: RegistrationPlace, fields: ResourceFields, put: Operation) => {
    let place = seen
    for (let round = 1; ; round += 1) {
      const before = put.id === undefined ? undefined : await registered(place, put.id)
      const scopes = await newScopes(place, fields)
      // A rename is two changes, and adds nothing.
      const renames = before && before.key !== put.key ? 1 : 0
      const room = (await roomForResource(place, fields, before)) + renames
      const guards = [
        fewChanges(place.view, AuthzResource.kind, room),
        fewChanges(place.view, AuthzScope.kind, await roomForScopes(place, scopes)),
      ]
      try {
        return await write(place, [...scopes, put], guards)
      } catch (error) {
        const isCrowded = error instanceof GuardFailedError && error.guard === limitGuard
        if (!isCrowded) throw error
        if (round === rounds)
          throw new Problem('conflict', 'the resources keep changing; try again', { cause: error })
        const view = await fresh(seen.view.realm)
        if (!view) throw new Problem('not-found', 'there is no such realm')
        place = { ...seen, view }
      }
    }
  }

  return {
    create: async (place, fields) => {
      const key = keyBelow(AuthzResource, place.client.clientId, fields.name)
      const { effects } = await writeWithin(place, fields, {
        op: 'put',
        kind: AuthzResource,
        key,
        doc: fields,
        secrets: {},
        expect: { exists: false },
      })
      const made = effects.find(({ after }) => after?.kind === AuthzResource.kind)?.after
      if (!made) throw new Error('the write path made no resource')
      return made.id
    },

    replace: async (place, id, fields) => {
      await writeWithin(place, fields, {
        op: 'put',
        kind: AuthzResource,
        key: keyBelow(AuthzResource, place.client.clientId, fields.name),
        id,
        doc: fields,
        secrets: {},
        expect: { exists: true },
      })
    },

    remove: async (place, id) => {
      const { key } = await registered(place, id)
      await write(place, [{ op: 'delete', kind: AuthzResource, key, id }])
    },
  }
}
