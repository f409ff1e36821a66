/** A realm with one thing of every sort, so that every route with a parameter can be asked for one that exists. */

import type { Kind } from '#schemas/kind.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { leastBody } from '../support/samples.ts'
import type { TestServer } from '../support/server.ts'
import { type AdminRoute, addressOf, parametersOf } from './admin-routes.ts'

/** Its id and its natural key, as a path may name it. */
export interface Thing {
  readonly id: string
  readonly key: string
}

export const routedKinds: readonly Kind[] = kinds.filter(
  ({ path, shape }) => path !== null && shape !== 'singleton',
)

export interface World {
  /** Of a kind, in a realm; those of two realms have the same natural key. */
  thing(realm: string, kind: Kind): Promise<Thing>
  user(realm: string): Promise<Thing>
  /** The address of a kind's collection; a child's is below the parent in the realm. */
  collection(realm: string, kind: Kind): Promise<string>
  /** The address of a route in one realm with the things of another. */
  address(route: AdminRoute, from: string, part: keyof Thing, realm?: string): Promise<string>
}

export const createWorld = (server: TestServer): World => {
  const made = new Map<string, Promise<Thing>>()
  const keys = new Map<string, Record<string, unknown>>()

  const once = (name: string, make: () => Promise<Thing>): Promise<Thing> => {
    const known = made.get(name) ?? make()
    made.set(name, known)
    return known
  }

  const collection: World['collection'] = async (realm, kind) => {
    const parent =
      kind.shape === 'child' && kind.parentKind !== null
        ? await thing(realm, kindNamed(kind.parentKind))
        : undefined
    return `/admin/realms/${realm}${kind.path?.replace(/\{[a-z-]+\}/, parent?.id ?? '')}`
  }

  const thing: World['thing'] = (realm, kind) =>
    once(`${realm} ${kind.kind}`, async () => {
      const body = { ...leastBody(kind), ...keys.get(kind.kind) }
      keys.set(kind.kind, Object.fromEntries(kind.keyFields.map((field) => [field, body[field]])))
      const method = kind.shape === 'upsert' ? 'PUT' : 'POST'
      const answer = await server.admin.send(method, await collection(realm, kind), body)
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
      const own = kind.keyFields.map((field) => answer.body[field]).join('/')
      return { id: answer.body[kind.pathKey], key: kind.shape === 'tree' ? `/${own}` : own }
    })

  const user: World['user'] = (realm) =>
    once(`${realm} user`, async () => {
      const answer = await server.admin.send('POST', `/admin/realms/${realm}/users`, {
        username: `only-in-${realm}`,
      })
      return { id: answer.body.userId, key: answer.body.username }
    })

  /** Fails for a parameter that is not known here. */
  const named = async (route: AdminRoute, parameter: string, realm: string): Promise<Thing> => {
    if (parameter === 'userId') return user(realm)
    if (parameter === 'roleId') return thing(realm, kindNamed('role'))
    const path = route.url.replace('/admin/realms/:realm', '').replace(/\/:id$/, '')
    const kind = routedKinds.find((one) => one.path?.replace(/\{[a-z-]+\}/, ':parent') === path)
    const wanted = parameter === 'parent' && kind?.parentKind ? kindNamed(kind.parentKind) : kind
    if (!wanted) throw new Error(`say in world.ts what :${parameter} of ${route.url} names`)
    return thing(realm, wanted)
  }

  return {
    thing,
    user,
    collection,
    address: async (route, from, part, realm = from) => {
      const values: Record<string, string> = { realm }
      for (const parameter of parametersOf(route))
        if (parameter !== 'realm')
          values[parameter] = route.ofServer
            ? from
            : encodeURIComponent((await named(route, parameter, from))[part])
      return addressOf(route, values)
    },
  }
}
