/** Every GET of the admin API, searched for planted secrets, hashes and sealed values. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { secretFields } from '#schemas/walk.ts'
import { backends } from '../../support/backends.ts'
import { bodyWithReferences } from '../../support/samples.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { adminRoutes, nameOf } from './admin-routes.ts'
import { createWorld, routedKinds, type World } from './world.ts'

const planted = 'planted-secret-that-must-never-be-read-again'

describe.each(backends)('secrets on $name', (backend) => {
  let server: TestServer
  let world: World
  const answered: string[] = []
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    world = createWorld(server)
  })
  afterAll(() => server.close())

  /** One document of every kind that has secrets, and what the server itself makes up. */
  const plant = async (): Promise<number> => {
    let count = 0
    for (const kind of routedKinds)
      for (const { pointer } of secretFields(kind)) {
        const [field = '', inner] = pointer.slice(1).split('/')
        const body = await bodyWithReferences(
          kind,
          async (target) => (await world.thing('acme', target)).key,
        )
        const value = inner ? { ...(body[field] as object), [inner]: planted } : planted
        const method = kind.shape === 'upsert' ? 'PUT' : 'POST'
        const url = await world.collection('acme', kind)
        const made = await server.admin.send(method, url, { ...body, [field]: value })
        if (made.status < 300) count += 1
      }
    const base = '/admin/realms/acme'
    const user = await world.user('acme')
    await server.admin.send('PUT', `${base}/users/${user.id}/password`, { newPassword: planted })
    for (const path of ['initial-access-tokens', 'scim-tokens']) {
      const made = await server.admin.send('POST', `${base}/provisioning/${path}`, {})
      answered.push(made.body.token)
    }
    const credentials = `${base}/users/${user.id}/credentials`
    const otp = await server.admin.send('POST', credentials, { type: 'otp' })
    answered.push(otp.body.secret, otp.body.otpauthUri)
    const recovery = await server.admin.send('POST', credentials, { type: 'recovery-codes' })
    answered.push(...recovery.body.codes)
    const client = await server.admin.send('POST', `${base}/clients`, { clientId: 'has-a-secret' })
    const again = await server.admin.send('POST', `${base}/clients/has-a-secret/secret`, {})
    answered.push(client.body.secret, again.body.value)
    await server.admin.send('POST', `${base}/messaging/push-tokens`, {
      userId: user.id,
      deviceId: 'd',
      platform: 'ios',
      driver: 'apns',
      token: planted,
    })
    return count
  }

  it('are in the answer of no GET, nor is anything they are stored as', async () => {
    expect(await plant()).toBeGreaterThan(4)
    expect(answered.every((value) => typeof value === 'string' && value.length > 12)).toBe(true)
    const { db } = server.areas.storage
    const rows = [
      ...(await db.selectFrom('documents').select('sealed as value').execute()),
      ...(await db.selectFrom('credentials').select('secret as value').execute()),
      ...(await db.selectFrom('signing_keys').select('private_key as value').execute()),
      ...(await db.selectFrom('provisioning_tokens').select('hash as value').execute()),
      ...(await db.selectFrom('sessions').select('id as value').execute()),
    ]
    const stored = rows
      .flatMap(({ value }) => (value === null ? [] : [value]))
      .flatMap((value) => value.match(/[\w+/$=.,-]{32,}/g) ?? [])
    expect(stored.length).toBeGreaterThan(8)
    const forbidden = [planted, ...answered, ...stored]
    const leaks: string[] = []
    let asked = 0
    for (const route of await adminRoutes(server)) {
      if (route.method !== 'GET') continue
      const url = await world.address(route, 'acme', 'id')
      const answer = await server.admin.send('GET', url)
      const text = JSON.stringify([answer.body, answer.headers])
      if (answer.status === 200) asked += 1
      for (const secret of forbidden)
        if (text.includes(secret)) leaks.push(`${nameOf(route)}: ${secret.slice(0, 24)}…`)
    }
    expect(leaks).toEqual([])
    expect(asked).toBeGreaterThan(60)
  })
})
