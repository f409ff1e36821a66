/** A realm with one item of every type, so that every route with a parameter has an existing value. */

import type { Kind } from '#schemas/kind.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import { bodyWithReferences } from '../../support/samples.ts'
import type { TestServer } from '../../support/server.ts'
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
      const own = await bodyWithReferences(kind, async (target) => (await thing(realm, target)).key)
      const body = { ...own, ...keys.get(kind.kind) }
      keys.set(kind.kind, Object.fromEntries(kind.keyFields.map((field) => [field, body[field]])))
      const method = kind.shape === 'upsert' ? 'PUT' : 'POST'
      const answer = await server.admin.send(method, await collection(realm, kind), body)
      if (answer.status >= 300) throw new Error(JSON.stringify(answer.body))
      const key = kind.keyFields.map((field) => answer.body[field]).join('/')
      return { id: answer.body[kind.pathKey], key: kind.shape === 'tree' ? `/${key}` : key }
    })

  const user: World['user'] = (realm) =>
    once(`${realm} user`, async () => {
      const answer = await server.admin.send('POST', `/admin/realms/${realm}/users`, {
        username: `only-in-${realm}`,
      })
      return { id: answer.body.userId, key: answer.body.username }
    })

  const data = (name: string, realm: string, make: () => Promise<string>): Promise<Thing> =>
    once(`${realm} ${name}`, async () => {
      const id = await make()
      return { id, key: id }
    })

  /** Rows that are no documents, by the path below which they are found. */
  const dataAt: Readonly<Record<string, (realm: string) => Promise<Thing>>> = {
    '/keys/{keyId}': (realm) =>
      data('key', realm, async () => {
        const { body } = await server.admin.send('GET', `/admin/realms/${realm}/keys`)
        return body[0].keyId
      }),
    '/messaging/providers/{channel}/test': async () => ({ id: 'EMAIL', key: 'EMAIL' }),
    '/sessions/{id}': (realm) =>
      data('session', realm, async () => {
        const { userId } = await server.userWith(realm, ['view-users'])
        const { sid } = await server.areas.storage.db
          .selectFrom('sessions')
          .select('sid')
          .where('user_id', '=', userId)
          .executeTakeFirstOrThrow()
        return sid
      }),
  }
  for (const segment of ['initial-access-tokens', 'scim-tokens'])
    Object.assign(dataAt, {
      [`/provisioning/${segment}/{tokenId}`]: (realm: string) =>
        data(segment, realm, async () => {
          const url = `/admin/realms/${realm}/provisioning/${segment}`
          return (await server.admin.send('POST', url, {})).body.id
        }),
    })

  const credential = (realm: string): Promise<Thing> =>
    data('credential', realm, async () => {
      const url = `/admin/realms/${realm}/users/${(await user(realm)).id}/credentials`
      const body = { type: 'password', value: 'a password for this test 99' }
      return (await server.admin.send('POST', url, body)).body.id
    })

  const clientKey = (realm: string): Promise<Thing> =>
    data('client-key', realm, async () => {
      const { id } = await thing(realm, kindNamed('client'))
      const url = `/admin/realms/${realm}/clients/${id}/keys/rotate`
      return (await server.admin.send('POST', url)).body.keyId
    })

  const delivery = (realm: string): Promise<Thing> =>
    data('delivery', realm, async () => {
      const { id: target } = await thing(realm, kindNamed('webhook'))
      const { jobs, storage } = server.areas
      await storage.commit(
        jobs.enqueueStatements('webhook', [{ realm, target, payload: { event: 1 }, at: 4e12 }]),
      )
      const url = `/admin/realms/${realm}/webhooks/${target}/deliveries`
      return (await server.admin.send('GET', url)).body[0].id
    })

  /** Made beside the route, which sends it by mail. */
  const invitation = (realm: string): Promise<Thing> =>
    data('invitation', realm, async () => {
      const { id: organizationId } = await thing(realm, kindNamed('organization'))
      const {
        users: { invitations },
        storage,
      } = server.areas
      const email = `invited@${realm}.example`
      const sent = { realm, organizationId, email, lifetimeSeconds: 600 }
      const { row, statements } = invitations.create(sent)
      await storage.commit(statements)
      return row.id
    })

  /** Made beside the routes of its owner. */
  const share = (realm: string): Promise<Thing> =>
    data('share', realm, async () => {
      const { id: resourceId } = await thing(realm, kindNamed('authz-resource'))
      const { id: clientId } = await thing(realm, kindNamed('client'))
      const { id: ownerId } = await user(realm)
      const { userId: requesterId } = await server.userWith(realm, [])
      const { authz, storage } = server.areas
      const shared = { realm, clientId, resourceId, scope: null, ownerId, requesterId }
      await storage.commit([authz.shares.grant(shared)])
      const url = `/admin/realms/${realm}/clients/${clientId}/authz/shares`
      return (await server.admin.send('GET', url)).body[0].id
    })

  const ownerPolicy = (realm: string): Promise<Thing> =>
    data('owner-policy', realm, async () => {
      const { id: resourceId } = await thing(realm, kindNamed('authz-resource'))
      const { id: clientId } = await thing(realm, kindNamed('client'))
      const { id: ownerId } = await user(realm)
      const { authz, storage } = server.areas
      const { id, statements } = authz.ownerPolicies.create(
        { realm, clientId, resourceId, ownerId },
        {
          name: 'open',
          scopes: [],
          decisionStrategy: 'AFFIRMATIVE',
          parties: { documents: [clientId], users: [] },
        },
        authz.limits.policiesOfResource,
      )
      await storage.commit(statements)
      return id
    })

  const kindOf: Readonly<Record<string, string>> = {
    roleId: 'role',
    clientId: 'client',
    groupId: 'group',
    orgId: 'organization',
    scopeId: 'client-scope',
    claimId: 'claim',
    alias: 'identity-provider',
  }

  /** Fails for a parameter that is not known here. */
  const named = async (route: AdminRoute, parameter: string, realm: string): Promise<Thing> => {
    const path = route.path.replace('/admin/realms/{realm}', '')
    const known = dataAt[path]
    if (known) return known(realm)
    if (parameter === 'userId') return user(realm)
    if (parameter === 'revision') {
      const now = String((await server.areas.realm.realms.find(realm))?.revision)
      return { id: now, key: now }
    }
    if (path.endsWith('/credentials/{type}/{id}'))
      return parameter === 'type' ? { id: 'password', key: 'password' } : credential(realm)
    if (parameter === 'keyId') return clientKey(realm)
    if (parameter === 'deliveryId') return delivery(realm)
    if (parameter === 'invitationId') return invitation(realm)
    if (parameter === 'shareId') return share(realm)
    if (parameter === 'policyId') return ownerPolicy(realm)
    if (path.startsWith('/webhooks/{id}/')) return thing(realm, kindNamed('webhook'))
    if (path.startsWith('/scim-targets/{id}/')) return thing(realm, kindNamed('scim-target'))
    if (path.startsWith('/agents/{id}/')) return thing(realm, kindNamed('agent'))
    const ofName = kindOf[parameter]
    if (ofName !== undefined) return thing(realm, kindNamed(ofName))
    const kind = routedKinds.find((one) => {
      const at = one.path?.replace(/\{[a-z-]+\}/, '{parent}') ?? ''
      return [`${at}/{id}`, at, `${at}/{${one.keyFields.join('}/{')}}`].includes(path)
    })
    const wanted = parameter === 'parent' && kind?.parentKind ? kindNamed(kind.parentKind) : kind
    if (!wanted) throw new Error(`say in world.ts what {${parameter}} of ${route.path} names`)
    const found = await thing(realm, wanted)
    const part = wanted.keyFields.indexOf(parameter)
    const value = found.key.split('/')[part] ?? ''
    return part === -1 || wanted.keyFields.length === 1 ? found : { id: value, key: value }
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
