/**
 * Every permission with every write that it allows: a holder never obtains a session, a token, a credential or a reset of
 * a user with more permissions, and no user gains permissions. The routes are those of the API description, each with a
 * valid body and with hostile ones, on items of the realm, on the administrator and on the holder.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandLineId } from '#schemas/access/command-line.ts'
import {
  effectivePermissions,
  type Permission,
  permissionKeys,
} from '#schemas/access/permissions.ts'
import { openWorld, type World } from '../../sign-in/world.ts'
import { backends, inTurns } from '../../support/backends.ts'
import {
  type AdminRoute,
  addressOf,
  adminRoutes,
  isWrite,
  parametersOf,
} from '../admin-api/admin-routes.ts'
import { bodyFor } from '../admin-api/valid-bodies.ts'
import { createWorld, type World as Things } from '../admin-api/world.ts'
import { hostileBodies } from './hostile-bodies.ts'
import { followUps, lost, openScene, rollBack, type Scene, standingOf } from './scene.ts'

const below = ({ path }: AdminRoute): string => path.replace('/admin/realms/{realm}', '')

describe.each(backends)('every write on $name', (backend) => {
  let world: World
  let routes: readonly AdminRoute[]
  let things: Things

  beforeAll(async () => {
    world = await openWorld(backend)
    things = createWorld(world.server)
    routes = (await adminRoutes(world.server)).filter((one) => isWrite(one) && !one.ofServer)
  })
  afterAll(() => world.close())

  /** The route on something ordinary, on what the administrator is or has, and on the holder. */
  const addressesOf = async (scene: Scene, route: AdminRoute): Promise<string[]> => {
    const { realm, boss, holder, ids } = scene
    const parameters = parametersOf(route).filter((name) => name !== 'realm')
    const ordinary = await things.address(route, realm, 'id')
    if (parameters.length === 0) return [ordinary]
    const common = { realm, groupId: ids.admins, roleId: ids.adminRole, clientId: ids.pipeline }
    const [, kind = ''] = below(route).split('/')
    const named: Record<string, readonly string[]> = {
      clients: [ids.pipeline, commandLineId],
      groups: [ids.admins],
      roles: [ids.adminRole, 'user'],
      flows: ['browser', 'reset-credentials'],
    }
    const victims = (named[kind] ?? []).map((id) =>
      addressOf(route, { ...common, userId: boss.id, id, parent: id, orgId: id }),
    )
    const users = parameters.includes('userId')
      ? [boss.id, holder.userId].map((userId) =>
          addressOf(route, { ...common, userId, type: 'password', id: boss.id }),
        )
      : []
    return [...new Set([ordinary, ...victims, ...users])]
  }

  const attack = async (scene: Scene) => {
    const { held, holder, base, realm } = scene
    const allowed = routes.filter(
      ({ permission }) =>
        permission === 'per-kind' || (permission !== undefined && held.has(permission)),
    )
    const addresses = new Map<AdminRoute, string[]>()
    for (const route of allowed) addresses.set(route, await addressesOf(scene, route))
    const wrong: string[] = []
    let accepted = 0
    let before = await standingOf(scene)
    const compare = async (what: string): Promise<void> => {
      const after = await standingOf(scene)
      wrong.push(...lost(scene, before, after).map((one) => `${what}: ${one}`))
      before = after
    }
    const follow = async (what: string): Promise<void> => {
      wrong.push(...(await followUps(scene)).map((one) => `${what}, then: ${one}`))
      await compare(`${what}, then`)
    }
    // What takes things away comes last: the others need them.
    const isDelete = ({ method }: AdminRoute): number => (method === 'DELETE' ? 1 : 0)
    for (const route of allowed.toSorted((a, b) => isDelete(a) - isDelete(b))) {
      const name = `${route.method} ${below(route)}`
      const { revision = 0 } = (await world.server.areas.realm.realms.find(realm)) ?? {}
      const bodies = [bodyFor(route), ...(hostileBodies(scene, revision)[name] ?? [])]
      for (const address of addresses.get(route) ?? [])
        for (const body of bodies) {
          const { status } = await holder.send(route.method, address, body)
          const what = `${route.method} ${address.replace(base, '')} ${JSON.stringify(body)}`
          // 503: the directory of the example is away.
          if (status >= 500 && status !== 503) wrong.push(`${what}: ${status}`)
          if (status >= 300) continue
          accepted += 1
          await compare(what)
          await follow(what)
        }
    }
    await follow('all of it')
    await rollBack(scene)
    await follow('a rollback')
    return { wrong, accepted }
  }

  const scenes = permissionKeys.filter((key) => key !== 'realm-admin')
  const writers: readonly Permission[] = ['view-users', 'view-clients', 'view-events']

  it.each(inTurns(scenes, backend))(
    'of a holder of %s alone leads to nobody who holds more',
    { timeout: 300_000 },
    async (permission) => {
      const held = effectivePermissions([permission])
      const scene = await openScene(world, `of-${permission}`, permission, held)
      const { wrong, accepted } = await attack(scene)
      expect(wrong).toEqual([])
      if (!writers.includes(permission)) expect(accepted).toBeGreaterThan(0)
    },
  )

  it('would be found here: a realm-admin gets all of it', { timeout: 300_000 }, async () => {
    const held = effectivePermissions(['manage-users'])
    const scene = await openScene(world, 'of-nobody', 'realm-admin', held)
    // As late as the last write of a holder: what was tried before must not blunt what is tried now.
    for (let round = 0; round < 12; round += 1) await followUps(scene)
    const before = await standingOf(scene)
    const path = `${scene.base}/users/${scene.boss.id}`
    await scene.holder.send('PUT', `${path}/password`, {
      newPassword: 'the attacker knows this one 7',
    })
    await followUps(scene)
    const found = lost(scene, before, await standingOf(scene))
    expect(found).toContain(`a way in to user ${scene.boss.id} was changed`)
    expect(found).toContain(`a session or token of ${scene.boss.id}`)
  })
})
