/**
 * Resources that a resource server registers at run time (UMA 2.0 Federated Authorization §3). They are runtime documents:
 * they make no revision, and an apply neither shows nor prunes them. A resource that is configuration stays out of reach, so
 * that a resource server never causes drift.
 */

import {
  AuthzResource,
  type AuthzResourceDoc,
} from '#schemas/kinds/authorization/authz-resource.ts'
import { AuthzScope } from '#schemas/kinds/authorization/authz-scope.ts'
import { Problem } from '#schemas/problems.ts'
import { systemCaller } from '#server/http/caller.ts'
import { type Operation, runtimeDoor } from '#server/realm/write/operations.ts'
import type { Writer } from '#server/realm/write/write.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { AuthzLimits } from './limits.ts'

/** The resource server that writes, and the realm as it was seen. */
export interface RegistrationPlace {
  readonly view: RealmView
  readonly client: TokenClient
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

export const createRegistration = ({
  writer,
  limits,
}: {
  readonly writer: Writer
  readonly limits: Pick<AuthzLimits, 'resourcesOfClient' | 'resourcesOfOwner'>
}): Registration => {
  const refuseBeyond = async (
    { view, client }: RegistrationPlace,
    { owner }: ResourceFields,
  ): Promise<void> => {
    const stored = (await view.list(AuthzResource.kind)).filter(
      ({ parentId }) => parentId === client.id,
    )
    if (stored.length >= limits.resourcesOfClient)
      throw new Problem(
        'forbidden',
        `the resource server has ${stored.length} resources, the most that it may register: remove some`,
      )
    if (owner === undefined) return
    const owned = stored.filter(
      (document) => contentOf<AuthzResourceDoc>(document).owner === owner,
    ).length
    if (owned >= limits.resourcesOfOwner)
      throw new Problem(
        'forbidden',
        `the owner has ${owned} resources here, the most that a user may have: remove some`,
      )
  }

  /** Scopes that the client names for the first time come to be with the resource. */
  const newScopes = async (
    { view, client }: RegistrationPlace,
    { scopes }: ResourceFields,
  ): Promise<Operation[]> => {
    const operations: Operation[] = []
    for (const name of scopes) {
      const key = `${client.clientId}/${name}`
      if (!(await view.get(AuthzScope.kind, key)))
        operations.push({ op: 'put', kind: AuthzScope, key, doc: { name }, secrets: {} })
    }
    return operations
  }

  const write = async (
    { view, client, sourceIp }: RegistrationPlace,
    operations: readonly Operation[],
  ) =>
    writer.write({
      realm: view.realm,
      caller: { ...systemCaller, actor: client.id, sourceIp },
      door: runtimeDoor,
      operations,
    })

  const registered = async ({ view, client }: RegistrationPlace, id: string) => {
    const document = await view.byId(AuthzResource.kind, id)
    if (!document || document.parentId !== client.id)
      throw new Problem('not-found', 'there is no such resource')
    if (document.origin !== 'runtime')
      throw new Problem('forbidden', 'the resource is configuration: change it there')
    return document
  }

  return {
    create: async (place, fields) => {
      await refuseBeyond(place, fields)
      const key = `${place.client.clientId}/${fields.name}`
      const { effects } = await write(place, [
        ...(await newScopes(place, fields)),
        {
          op: 'put',
          kind: AuthzResource,
          key,
          doc: fields,
          secrets: {},
          expect: { exists: false },
        },
      ])
      const made = effects.find(({ after }) => after?.kind === AuthzResource.kind)?.after
      if (!made) throw new Error('the write path made no resource')
      return made.id
    },

    replace: async (place, id, fields) => {
      await registered(place, id)
      await write(place, [
        ...(await newScopes(place, fields)),
        {
          op: 'put',
          kind: AuthzResource,
          key: `${place.client.clientId}/${fields.name}`,
          id,
          doc: fields,
          secrets: {},
          expect: { exists: true },
        },
      ])
    },

    remove: async (place, id) => {
      const { key } = await registered(place, id)
      await write(place, [{ op: 'delete', kind: AuthzResource, key, id }])
    },
  }
}
