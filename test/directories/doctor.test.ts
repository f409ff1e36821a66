/** The check of a directory finds what would keep its users out, before they do; and a schedule syncs by itself. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { anyBackend } from '../support/backends.ts'
import { freePort } from '../support/processes/ports.ts'
import { base, bindPassword } from './people.ts'
import { isUsers, openSyncWorld, type SyncWorld } from './sync-world.ts'

describe.each(anyBackend)('a directory on $name', (backend) => {
  let world: SyncWorld
  let late = 0
  const clock: Clock = { now: () => Date.now() + late }
  beforeAll(async () => {
    world = await openSyncWorld(backend, { clock })
  })
  afterAll(() => world?.close())
  beforeEach(() => {
    late = 0
    world.next()
  })

  const check = async (): Promise<string[]> => {
    const { status, body } = await world.admin('POST', `/identity-providers/${world.alias()}/check`)
    expect(status).toBe(200)
    expect(JSON.stringify(body)).not.toContain(bindPassword)
    return body.map((one: { check: string; status: string }) => `${one.check} ${one.status}`)
  }

  it('that works has findings about encryption alone', async () => {
    world.add('ada')
    await world.provide()
    expect(await check()).toEqual([
      'directory-tls warning',
      'directory-bind ok',
      'directory-search ok',
    ])
  })

  it('that is away, refuses the bind user, hides its users or has a wrong clock is found out', async () => {
    world.add('ada')
    await world.provide({ url: `ldap://127.0.0.1:${await freePort()} ${world.ldap.url}` })
    expect(await check()).toContain('directory-connection error')
    await world.provide({ bindPassword: 'another' })
    expect(await check()).toContain('directory-bind error')
    await world.provide()
    world.ldap.faults.search = (call) => (isUsers(call) ? { entries: [] } : undefined)
    expect(await check()).toContain('directory-search error')
    world.ldap.faults.search = (call) =>
      call.base === ''
        ? { entries: [{ dn: '', attributes: { currentTime: ['20200101000000Z'] } }] }
        : undefined
    expect(await check()).toContain('directory-clock warning')
    await world.provide({ userSearchBase: `ou=none,${base}` })
    expect(await check()).toContain('directory-search error')
  })

  it('with a schedule is read when it is due, and not before', async () => {
    world.add('ada')
    await world.provide({ syncSchedule: '15m' })
    const { scheduledSyncs } = world.site.site.server.areas
    const run = () => scheduledSyncs(new AbortController().signal)
    await run()
    expect(await world.user('ada')).toMatchObject({ enabled: true })
    world.add('bob')
    await run()
    expect(await world.user('bob')).toBeUndefined()
    late = 15 * 60_000
    await run()
    expect(await world.user('bob')).toMatchObject({ enabled: true })
  })

  it('whose scheduled sync fails leaves an event that says why, and is not asked again at once', async () => {
    world.add('ada')
    await world.provide({ syncSchedule: '15m' })
    world.ldap.faults.search = (call) => (isUsers(call) ? { entries: [], code: 50 } : undefined)
    const { scheduledSyncs } = world.site.site.server.areas
    await scheduledSyncs(new AbortController().signal)
    const [event] = await world.site.site.events('ADMIN_ACTION')
    expect(event).toMatchObject({ outcome: 'FAILURE', actor: 'system' })
    expect(event?.detail).toContain('the bind user lacks the right')
    world.ldap.forget()
    await scheduledSyncs(new AbortController().signal)
    expect(world.ldap.searches).toEqual([])
  })
})
