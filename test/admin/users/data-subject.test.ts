/** Export and erasure of personal data: after an erasure, every table and the log are searched for it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, password, type World } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'
import { dumpDatabase } from '../../support/database/database-dump.ts'

describe.each(backends)('the rights of a data subject on $name', (backend) => {
  let world: World
  const base = '/admin/realms/shop'

  beforeAll(async () => {
    world = await openWorld(backend)
  })
  afterAll(() => world.close())

  const person = {
    username: 'wilhelmina-unique',
    email: 'wilhelmina@unique.example',
    firstName: 'Wilhelmina',
    lastName: 'Einzigartig',
    attributes: { phoneNumber: ['+31600000077'], locale: ['nl'] },
  }
  /** Everything that tells who it was, but for the id. */
  const traces = ['wilhelmina', 'Einzigartig', '31600000077', 'w-77']

  const dump = (): Promise<string> => dumpDatabase(world.server.areas.storage)

  /** Lives a little: signs in, fails, asks for a password, gets mail. */
  const live = async (): Promise<void> => {
    const browser = world.browser()
    await browser.open('/realms/shop/login')
    await browser.submit({ username: person.username, password: 'wrong' })
    await browser.submit({ username: person.username, password })
    const forgetful = world.browser()
    await forgetful.open('/realms/shop/login/forgot')
    await forgetful.submit({ username: person.email })
    await world.settle()
  }

  it('exports the document with every array that has entries', async () => {
    const userId = await world.addUser(person.username, person)
    await live()
    await world.must('POST', '/organizations', { alias: 'acme', name: 'Acme' })
    const [organization] = await world.must('GET', '/organizations')
    await world.must('PUT', `/organizations/${organization.id}/members/${userId}`)
    const { links } = world.server.areas.users
    const provider = { realm: 'shop', id: 'gone', alias: 'partner' }
    const account = { issuer: 'https://id.example', subject: 'w-77', username: person.username }
    const { storage } = world.server.areas
    await storage.commit(links.link(provider, [{ ...account, userId }]))
    const document = await world.must('GET', `/users/${userId}/gdpr/export`)
    expect(document).toMatchObject({
      schema: 'iamctl.gdpr.export/v1',
      realmId: 'shop',
      userId,
      profile: { username: person.username, email: person.email, enabled: true },
      attributes: person.attributes,
      roles: ['user'],
      realmMemberships: [{ realmId: 'shop', joinedAt: expect.any(Number) }],
      organizations: [{ alias: 'acme', joinedAt: expect.any(Number) }],
      credentials: [{ type: 'password' }],
      federatedLinks: [
        {
          identityProvider: 'partner',
          issuer: 'https://id.example',
          userId: 'w-77',
          userName: person.username,
          linkedAt: expect.any(Number),
          lastLoginAt: null,
        },
      ],
      consents: [],
    })
    expect(document.loginEvents.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(['LOGIN_SUCCESS', 'LOGIN_FAILURE']),
    )
    expect(JSON.stringify(document)).not.toContain('$argon2')
    expect(await dump()).toContain('Einzigartig')
  })

  it('erases a user so that nothing is left that tells who it was, and the trail stays', async () => {
    const user = await world.server.areas.users.store.find('shop', person.username)
    const userId = user?.id ?? ''
    await world.must('DELETE', `/users/${userId}/gdpr`)
    const left = await dump()
    for (const trace of traces) expect(left.toLowerCase()).not.toContain(trace.toLowerCase())
    const { items } = await world.must('GET', `/events?actor=${userId}`)
    expect(items.length).toBeGreaterThan(0)
    const erased = await world.must('GET', '/events?type=USER_ERASED')
    expect(erased.items[0]).toMatchObject({ resourceId: userId, category: 'SECURITY' })
    const admin = await world.server.signedIn('master', 'admin')
    expect((await admin.send('GET', `${base}/users/${userId}`)).status).toBe(404)
  })

  it('erases a managed user from history too, and no rollback brings the user back', async () => {
    const admin = await world.server.signedIn('master', 'admin')
    const { revision } = (await admin.send('GET', `${base}/export`)).body
    const applied = await admin.send('POST', `${base}/changesets`, {
      baseRevision: revision,
      source: 'git',
      message: 'people',
      operations: [
        {
          op: 'put',
          kind: 'user',
          key: person.username,
          ifHash: null,
          doc: person,
          secrets: {},
        },
      ],
    })
    expect(applied.status, JSON.stringify(applied.body)).toBeLessThan(300)
    const user = await world.server.areas.users.store.find('shop', person.username)
    expect(user?.managed).toBe(1)
    await world.must('DELETE', `/users/${user?.id}/gdpr`)
    const left = await dump()
    for (const trace of traces) expect(left.toLowerCase()).not.toContain(trace.toLowerCase())
    const before = Number(applied.body.revision)
    await admin.send('POST', `${base}/revisions/${before}/rollback`, { message: 'back' })
    expect(await world.server.areas.users.store.find('shop', person.username)).toBeUndefined()
  })

  it('is for who administers the realm alone, and never for oneself', async () => {
    const userId = await world.addUser('somebody')
    const helper = await world.server.userWith('shop', ['manage-users', 'view-users'])
    expect((await helper.send('DELETE', `${base}/users/${userId}/gdpr`)).status).toBe(403)
    expect((await helper.send('GET', `${base}/users/${userId}/gdpr/export`)).status).toBe(200)
    const viewer = await world.server.userWith('shop', ['view-users'])
    expect((await viewer.send('GET', `${base}/users/${userId}/gdpr/export`)).status).toBe(403)
    const own = await world.server.userWith('shop', ['realm-admin'])
    expect((await own.send('DELETE', `${base}/users/${own.userId}/gdpr`)).status).toBe(409)
  })

  it('lets a realm admin act as a user, visibly, and nobody else', async () => {
    const userId = await world.addUser('kunde')
    const helper = await world.server.userWith('shop', ['manage-users'])
    const path = `${base}/users/${userId}/impersonate`
    expect((await helper.send('POST', path)).status).toBe(403)
    const own = await world.server.userWith('shop', ['realm-admin'])
    const answer = await own.send('POST', path)
    expect([answer.status, answer.body]).toEqual([
      200,
      { sameRealm: true, redirect: '/realms/shop/account' },
    ])
    const [cookie = ''] = [answer.headers['set-cookie']].flat().map(String)
    const session = await world.server.areas.storage.db
      .selectFrom('sessions')
      .selectAll()
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow()
    expect(cookie).toContain('iam-session-shop=')
    expect(session.impersonator).toBe(own.userId)
    const { items } = await world.must('GET', '/events?type=IMPERSONATE')
    expect(items[0]).toMatchObject({ category: 'SECURITY', actor: own.userId, resourceId: userId })
  })
})
