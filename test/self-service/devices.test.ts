/** Enrolment of devices over HTTP: permission, signed content, and single use. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tidy } from '#server/run/housekeeping.ts'
import { openWorld, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { appOf, enrolDevice, newKey, openPhone, type Phone, pushToken } from './phone.ts'

describe.each(backends)('devices on $name', (backend) => {
  let world: World
  let app: ReturnType<typeof appOf>
  let count = 0

  beforeAll(async () => {
    world = await openWorld(backend)
    app = appOf(world.server, world.realm)
  })
  afterAll(() => world.close())

  const newcomer = async (): Promise<string> => {
    count += 1
    await world.must('POST', '/users', { username: `dora-${count}` })
    return `dora-${count}`
  }
  const phoneOf = (username: string, signIn = {}): Promise<Phone> =>
    openPhone(world.server, world.realm, username, signIn)
  const tokenOf = async (phone: Phone): Promise<string> =>
    (await phone.send('POST', '/account/devices')).body.enrollmentToken
  const started = async (phone: Phone) =>
    (await app('/device/enroll/start', { enrollmentToken: await tokenOf(phone) })).body
  const enrolling = (deviceId: string, challenge: string, key = newKey()) => ({
    deviceId,
    publicKeyJwk: key.jwk,
    pushToken,
    platform: 'ios',
    signature: key.sign(challenge),
  })
  const credentialsOf = ({ userId }: Phone) => world.must('GET', `/users/${userId}/credentials`)

  it.each(['ES256', 'Ed25519'] as const)(
    'are a factor once they have signed the challenge with a key of %s',
    async (type) => {
      const phone = await phoneOf(await newcomer())
      const { id, deviceId } = await enrolDevice(world.server, world.realm, phone, {
        key: newKey(type),
      })
      expect(await credentialsOf(phone)).toMatchObject([
        { id, type: 'push', userLabel: 'My phone' },
      ])
      const { db } = world.server.areas.storage
      const row = await db
        .selectFrom('push_tokens')
        .selectAll()
        .where('device_id', '=', deviceId)
        .executeTakeFirstOrThrow()
      expect(row).toMatchObject({ user_id: phone.userId, driver: 'fcm', token_hint: '6789' })
      expect(row.token).not.toContain(pushToken)
      const [event] = (await world.must('GET', '/events?type=UPDATE_CREDENTIAL')).items
      expect(event).toMatchObject({ actor: phone.userId, outcome: 'SUCCESS', detail: 'push' })
    },
  )

  it('take a session with its CSRF token, and one with a second factor where the user has one', async () => {
    const username = await newcomer()
    const phone = await phoneOf(username)
    const permit = (by: Phone, headers = {}) =>
      by.send('POST', '/account/devices', undefined, headers)
    expect((await app('/account/devices', {})).status).toBe(401)
    expect((await permit(phone, { 'x-xsrf-token': 'x' })).status).toBe(403)
    expect((await phone.send('POST', '/account/devices', { lable: 'x' })).status).toBe(400)
    const acting = await phoneOf(username, { acr: '2', impersonator: world.server.admin.userId })
    expect((await permit(acting)).status).toBe(403)
    expect((await permit(phone)).status).toBe(201)
    await enrolDevice(world.server, world.realm, phone)
    const weak = await permit(phone)
    expect([weak.status, weak.body.detail]).toEqual([403, expect.stringContaining('second factor')])
    expect((await permit(await phoneOf(username, { acr: '2' }))).status).toBe(201)
  })

  it('exchange their token once, within ten minutes, in its realm', async () => {
    const phone = await phoneOf(await newcomer())
    const enrollmentToken = await tokenOf(phone)
    const { db } = world.server.areas.storage
    const stored = await db.selectFrom('device_enrolments').selectAll().execute()
    expect(JSON.stringify(stored)).not.toContain(enrollmentToken)
    const start = (token = enrollmentToken) =>
      app('/device/enroll/start', { enrollmentToken: token })
    const elsewhere = appOf(world.server, 'master')
    expect((await elsewhere('/device/enroll/start', { enrollmentToken })).status).toBe(401)
    const both = await Promise.all([start(), start()])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401])
    expect((await start()).status).toBe(401)
    expect((await start('x')).status).toBe(401)
    const late = await tokenOf(phone)
    world.clock.advance(10 * 60_000)
    expect((await start(late)).status).toBe(401)
  })

  it('sign their challenge once, within five minutes, in its realm', async () => {
    const phone = await phoneOf(await newcomer())
    const { deviceId, challenge } = await started(phone)
    const body = enrolling(deviceId, challenge)
    expect((await appOf(world.server, 'master')('/device/enroll', body)).status).toBe(404)
    const both = await Promise.all([app('/device/enroll', body), app('/device/enroll', body)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 404])
    expect((await app('/device/enroll', body)).status).toBe(404)
    expect(await credentialsOf(phone)).toHaveLength(1)
    const other = await phoneOf(await newcomer())
    const late = await started(other)
    world.clock.advance(5 * 60_000)
    const answer = await app('/device/enroll', enrolling(late.deviceId, late.challenge))
    expect(answer.status).toBe(404)
    expect(await credentialsOf(other)).toEqual([])
  })

  it('bring a public key that is one, and the signature of the challenge by it', async () => {
    const phone = await phoneOf(await newcomer())
    const { deviceId, challenge } = await started(phone)
    const [key, another] = [newKey(), newKey()]
    const good = enrolling(deviceId, challenge, key)
    const wrong: readonly [string, object][] = [
      ['/publicKeyJwk', { publicKeyJwk: key.privateJwk }],
      ['/publicKeyJwk', { publicKeyJwk: { ...key.jwk, y: key.jwk['x'] } }],
      ['/publicKeyJwk', { publicKeyJwk: { ...newKey('Ed25519').jwk, kty: 'EC' } }],
      ['/publicKeyJwk', { publicKeyJwk: { kty: 'oct', k: 'x' } }],
      ['/signature', { publicKeyJwk: another.jwk }],
      ['/signature', { signature: key.sign(`${challenge}x`) }],
      ['/signature', { signature: '' }],
      ['/platform', { platform: 'windows' }],
      ['/pushToken', { pushToken: 'short' }],
      ['', { more: true }],
    ]
    for (const [field, change] of wrong) {
      const { status, body } = await app('/device/enroll', { ...good, ...change })
      expect([status, body.errors?.[0]?.field], JSON.stringify(body)).toEqual([
        400,
        expect.stringContaining(field),
      ])
    }
    expect((await app('/device/enroll', good)).status).toBe(201)
  })

  it('are sent nothing any more once they are removed, by the user or by an administrator', async () => {
    const { db } = world.server.areas.storage
    const username = await newcomer()
    const first = await enrolDevice(world.server, world.realm, await phoneOf(username))
    const phone = await phoneOf(username, { acr: '2' })
    const second = await enrolDevice(world.server, world.realm, phone)
    const addresses = async () =>
      (await db.selectFrom('push_tokens').select('device_id').execute())
        .map(({ device_id }) => device_id)
        .filter((id) => id === first.deviceId || id === second.deviceId)
    expect((await addresses()).length).toBe(2)
    expect((await phone.send('DELETE', `/account/credentials/${first.id}`)).status).toBe(204)
    expect(await addresses()).toEqual([second.deviceId])
    await world.must('DELETE', `/users/${phone.userId}/credentials/push/${second.id}`)
    expect(await addresses()).toEqual([])
  })

  it('are of nobody who may not sign in any more, and leave nothing behind', async () => {
    const phone = await phoneOf(await newcomer())
    const { deviceId, challenge } = await started(phone)
    const user = await world.must('GET', `/users/${phone.userId}`)
    await world.must('PUT', `/users/${phone.userId}`, { username: user.username, enabled: false })
    const answer = await app('/device/enroll', enrolling(deviceId, challenge))
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(await credentialsOf(phone)).toEqual([])
    world.clock.advance(10 * 60_000)
    await tidy(world.server.areas)
    const { db } = world.server.areas.storage
    expect(await db.selectFrom('device_enrolments').selectAll().execute()).toEqual([])
  })
})
