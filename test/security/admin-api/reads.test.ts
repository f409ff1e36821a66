/** A permission gives no read access to data of another permission; and a lock ends also after a change of the clock. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '#schemas/access/permissions.ts'
import { put, senderTo } from '../../realm/changesets/changeset.ts'
import { openWorld, password, type World } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'

const target = { name: 'mine', baseUrl: 'https://app.example/scim' }
const webhook = { name: 'mine', url: 'https://hooks.example/all', eventTypes: '*' }

describe.each(backends)('reading by another door on $name', (backend) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld(backend)
  })
  afterAll(() => world.close())
  const base = '/admin/realms/shop'

  it('takes view-events to subscribe to events, and to see which were delivered', async () => {
    const holder = await world.server.userWith('shop', ['manage-realm'])
    const reader = await world.server.userWith('shop', ['manage-realm', 'view-events'])
    expect((await holder.send('GET', `${base}/events`)).status).toBe(403)
    const made = await holder.send('POST', `${base}/webhooks`, webhook)
    expect([made.status, made.body.code]).toEqual([403, 'forbidden'])
    const listed = await senderTo(world.server, 'shop', holder).apply([
      put('webhook', 'mine', webhook),
    ])
    expect([listed.status, listed.body.code]).toEqual([403, 'forbidden'])

    const { status, body } = await reader.send('POST', `${base}/webhooks`, webhook)
    expect(status).toBe(201)
    const path = `${base}/webhooks/${body.id}`
    expect((await reader.send('GET', `${path}/deliveries`)).status).toBe(200)
    expect((await holder.send('GET', `${path}/deliveries`)).status).toBe(403)
    expect((await holder.send('POST', `${path}/deliveries/${body.id}/redeliver`)).status).toBe(403)
    const moved = { ...webhook, url: 'https://attacker.example/all' }
    expect((await holder.send('PUT', path, moved)).status).toBe(403)
    expect((await reader.send('GET', path)).body.url).toBe(webhook.url)
    expect((await holder.send('DELETE', path)).status).toBe(204)
    const before = (await senderTo(world.server, 'shop').revision()) - 1
    const back = await holder.send('POST', `${base}/revisions/${before}/rollback`, {})
    expect([back.status, back.body.code]).toEqual([403, 'forbidden'])
  })

  it('takes view-users to send users to a SCIM target, and to see which were sent', async () => {
    const holder = await world.server.userWith('shop', ['manage-realm'])
    const reader = await world.server.userWith('shop', ['manage-realm', 'view-users'])
    const path = `${base}/scim-targets`
    const refused = { status: 403, body: { code: 'forbidden' } }
    expect(await holder.send('POST', path, target)).toMatchObject(refused)
    const listed = senderTo(world.server, 'shop', holder)
    expect(await listed.apply([put('scim-target', target.name, target)])).toMatchObject(refused)

    const { status, body } = await reader.send('POST', path, { ...target, enabled: false })
    expect(status).toBe(201)
    const own = `${path}/${body.id}`
    expect((await reader.send('GET', `${own}/status`)).status).toBe(200)
    expect(await holder.send('GET', `${own}/status`)).toMatchObject(refused)
    const compared = await holder.send('POST', `${own}/reconcile?dryRun=true`)
    expect(compared).toMatchObject(refused)
    const moved = { ...target, baseUrl: 'https://attacker.example/scim' }
    expect(await holder.send('PUT', own, moved)).toMatchObject(refused)
    expect((await reader.send('GET', own)).body.baseUrl).toBe(target.baseUrl)
    expect((await holder.send('DELETE', own)).status).toBe(204)
  })

  it('takes the permissions that a SCIM token acts with to make one', async () => {
    await world.must('PUT', '/provisioning', { scimEnabled: true })
    const token = async (permissions: readonly Permission[], body: object) => {
      const holder = await world.server.userWith('shop', ['manage-realm', ...permissions])
      return holder.send('POST', `${base}/provisioning/scim-tokens`, body)
    }
    const [users, groups] = [{ scopes: ['users'] }, { scopes: ['groups'] }]
    for (const [permissions, body, missing] of [
      [[], {}, 'manage-users'],
      [[], users, 'manage-users'],
      [[], groups, 'manage-organizations'],
      [['view-users'], users, 'manage-users'],
      [['manage-users'], groups, 'manage-organizations'],
      [['manage-users'], {}, 'manage-organizations'],
    ] as const) {
      const answer = await token(permissions, body)
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden'])
      expect(answer.body.detail).toContain(missing)
    }
    expect((await token(['manage-users'], users)).status).toBe(201)
    expect((await token(['manage-organizations'], groups)).status).toBe(201)
    expect((await token(['manage-users', 'manage-organizations'], {})).status).toBe(201)
  })

  it('takes the permissions of a user to export what is held about them', async () => {
    const helper = await world.server.userWith('shop', ['manage-users'])
    const boss = await world.server.userWith('shop', ['realm-admin'])
    const plain = await world.addUser('plain')
    const of = (id: string) => `${base}/users/${id}/gdpr/export`
    expect((await helper.send('GET', of(plain))).status).toBe(200)
    expect((await helper.send('GET', of(helper.userId))).status).toBe(200)
    expect(await helper.send('GET', of(boss.userId))).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('realm-admin') },
    })
    const events = await world.must('GET', '/events?type=DATA_EXPORT')
    expect(events.items.map(({ resourceId }: { resourceId: string }) => resourceId)).not.toContain(
      boss.userId,
    )
  })

  it('locks no user for longer than the longest wait, also when the clock was ahead', async () => {
    const userId = await world.addUser('late')
    const tryWith = async (secret: string): Promise<boolean> => {
      const browser = world.browser()
      await browser.open('/realms/shop/login')
      await browser.submit({ username: 'late', password: secret })
      return browser.isSignedIn('shop')
    }
    const locked = async () => (await world.must('GET', `/users/${userId}`)).locked
    const year = 365 * 24 * 3600_000
    world.clock.advance(year)
    await world.settings({ failureFactor: 2, waitIncrementSeconds: 60, maxFailureWaitSeconds: 900 })
    for (const wrong of ['wrong one', 'wrong two']) expect(await tryWith(wrong)).toBe(false)
    expect(await tryWith(password)).toBe(false)
    expect(await locked()).toBe(true)
    world.clock.advance(-year)
    expect(await locked()).toBe(false)
    expect(await tryWith(password)).toBe(true)
  })
})
