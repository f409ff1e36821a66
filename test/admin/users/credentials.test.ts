/** Second factors that an administrator sets: values shown once, stored rows, ended sessions, refusals. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recoveryCodeDigest } from '#server/credentials/factors/recovery-codes.ts'
import { newId } from '#server/platform/ids.ts'
import { keyringFrom } from '#server/platform/sealing.ts'
import { resealEverything } from '#server/realm/reseal.ts'
import { backends } from '../../support/backends.ts'
import { type Client, startServer, type TestServer } from '../../support/server.ts'

const base = '/admin/realms/acme'
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

describe.each(backends)('credentials on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
  })
  afterAll(() => server.close())

  const send = (method: string, url: string, body?: unknown) =>
    server.admin.send(method, `${base}${url}`, body)
  const make = async (username = `u-${newId()}`): Promise<string> =>
    (await send('POST', '/users', { username })).body.userId
  const set = (userId: string, body: object, client: Client = server.admin) =>
    client.send('POST', `${base}/users/${userId}/credentials`, body)
  const created = async (userId: string, body: object) => {
    const answer = await set(userId, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body
  }
  const listed = async (userId: string) =>
    (await send('GET', `/users/${userId}/credentials`)).body as { id: string; type: string }[]
  const stored = (userId: string) =>
    server.areas.storage.db
      .selectFrom('credentials')
      .selectAll()
      .where('user_id', '=', userId)
      .orderBy('priority')
      .orderBy('id')
      .execute()
  const opened = (row: { id: string; secret: string }, keyring = server.areas.secrets.keyring) =>
    JSON.parse(keyring.open(JSON.parse(row.secret), `acme/credential/${row.id}`))
  const settings = async (change: object): Promise<void> => {
    const { body } = await send('GET', '/settings')
    const answer = await send('PUT', '/settings', { ...body, ...change })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }

  describe('of type otp', () => {
    it('have a secret of 160 bits that the server makes, shown once and stored sealed', async () => {
      const userId = await make()
      const { secret: made, otpauthUri, ...record } = await created(userId, { type: 'otp' })
      expect(made).toMatch(/^[A-Z2-7]{32}$/)
      expect(new URL(otpauthUri).searchParams.get('secret')).toBe(made)
      expect(record).toEqual({
        id: expect.any(String),
        type: 'otp',
        userLabel: null,
        createdDate: expect.any(Number),
        priority: 10,
      })
      expect(await listed(userId)).toEqual([record])
      const [row] = await stored(userId)
      expect(row?.secret).not.toContain(made)
      expect(row && opened(row)).toEqual({ secret: made, algorithm: 'SHA1', digits: 6, period: 30 })
      const other = await created(userId, { type: 'otp' })
      expect(other.secret).not.toBe(made)
    })

    it('take the secret of an app that is set up already, however it is spelt', async () => {
      const userId = await make()
      for (const given of [secret, secret.toLowerCase(), `${secret}MFRA====`]) {
        const wanted = given.toUpperCase().replace(/=+$/, '')
        const body = await created(userId, { type: 'otp', secret: given, userLabel: 'My phone' })
        expect(body).toMatchObject({ secret: wanted, userLabel: 'My phone' })
      }
      expect((await stored(userId)).map((row) => opened(row).secret)).toEqual([
        secret,
        secret,
        `${secret}MFRA`,
      ])
      const record = (await listed(userId))[0]
      expect((await send('DELETE', `/users/${userId}/credentials/otp/${record?.id}`)).status).toBe(
        204,
      )
      expect(await listed(userId)).toHaveLength(2)
    })

    it('are described to the app as the policy of the realm wants it', async () => {
      const userId = await make('anna+test@example.org')
      const plain = await created(userId, { type: 'otp', secret })
      expect(plain.otpauthUri).toBe(
        `otpauth://totp/acme:anna%2Btest%40example.org?secret=${secret}&issuer=acme&algorithm=SHA1&digits=6&period=30`,
      )
      for (const algorithm of ['SHA256', 'SHA512']) {
        await settings({
          displayName: 'Acme: Sons & Söhne',
          otpPolicyAlgorithm: `Hmac${algorithm}`,
          otpPolicyDigits: 8,
          otpPolicyPeriod: 60,
        })
        const url = new URL((await created(userId, { type: 'otp', secret })).otpauthUri)
        // Apps split the label at a colon, so the issuer must not have one.
        expect([url.host, decodeURIComponent(url.pathname)]).toEqual([
          'totp',
          '/Acme Sons & Söhne:anna+test@example.org',
        ])
        expect(Object.fromEntries(url.searchParams)).toEqual({
          secret,
          issuer: 'Acme Sons & Söhne',
          algorithm,
          digits: '8',
          period: '60',
        })
        const row = (await stored(userId)).at(-1)
        expect(row && opened(row)).toEqual({ secret, algorithm, digits: 8, period: 60 })
      }
      await settings({
        displayName: null,
        otpPolicyAlgorithm: 'HmacSHA1',
        otpPolicyDigits: 6,
        otpPolicyPeriod: 30,
      })
      const [first] = await stored(userId)
      expect(first && opened(first)).toMatchObject({ algorithm: 'SHA1', digits: 6 })
    })

    it('open for no other record', async () => {
      const userId = await make()
      await created(userId, { type: 'otp' })
      await created(userId, { type: 'otp' })
      const [one, other] = await stored(userId)
      if (!one || !other) throw new Error('no rows')
      expect(() => opened({ id: other.id, secret: one.secret })).toThrow('another record')
    })

    it('are sealed anew when the master key is rotated; passwords and recovery codes stay as they are', async () => {
      const userId = await make()
      await created(userId, { type: 'password', value: `nobody guesses ${newId()}` })
      await created(userId, { type: 'recovery-codes' })
      await created(userId, { type: 'otp', secret })
      const before = await stored(userId)
      const key = (first: number) => Uint8Array.from({ length: 32 }, (_, i) => first + i)
      const [old, next] = [key(0), key(100)]
      const {
        storage,
        secrets: { keyring },
      } = server.areas
      expect(keyringFrom([old]).activeKid).toBe(keyring.activeKid)
      try {
        expect(await resealEverything(storage, keyringFrom([next, old]))).toBeGreaterThan(0)
        const after = await stored(userId)
        expect(after.map(({ type }) => type)).toEqual(['password', 'otp', 'recovery-codes'])
        expect([after[0], after[2]]).toEqual([before[0], before[2]])
        const otp = after[1]
        if (!otp) throw new Error('no otp')
        expect(otp.secret).not.toBe(before[1]?.secret)
        expect(() => opened(otp)).toThrow('not loaded')
        expect(opened(otp, keyringFrom([next]))).toMatchObject({ secret })
      } finally {
        await resealEverything(storage, keyringFrom([old, next]))
      }
    })
  })

  describe('of type recovery-codes', () => {
    const setOf = async (userId: string) => {
      const [row] = await stored(userId)
      return JSON.parse(row?.secret ?? '') as { salt: string; digests: string[] }
    }

    it('are ten different codes of 60 bits, shown once and stored as digests', async () => {
      const userId = await make()
      const { codes, ...record } = await created(userId, { type: 'recovery-codes' })
      expect(new Set(codes).size).toBe(10)
      for (const code of codes)
        expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/)
      expect(record).toMatchObject({ type: 'recovery-codes', userLabel: null, priority: 20 })
      expect(await listed(userId)).toEqual([record])
      const [row] = await stored(userId)
      for (const code of codes) {
        expect(row?.secret).not.toContain(code)
        expect(row?.secret).not.toContain(code.replaceAll('-', ''))
      }
      const { salt, digests } = await setOf(userId)
      const typed = codes.map((code: string) => code.toLowerCase().replaceAll('-', ' '))
      expect(typed.map((code: string) => recoveryCodeDigest(salt, code))).toEqual(digests)
      const misread = codes.map((code: string) => code.replaceAll('0', 'o').replaceAll('1', 'l'))
      expect(misread.map((code: string) => recoveryCodeDigest(salt, code))).toEqual(digests)
      expect(digests).not.toContain(recoveryCodeDigest(salt, '0000-0000-0000'))
    })

    it('are as many as asked for, and a new set takes the place of the old one', async () => {
      const userId = await make()
      const kept = await created(userId, { type: 'otp' })
      for (const count of [6, 20]) {
        const { codes } = await created(userId, { type: 'recovery-codes', count })
        expect(codes).toHaveLength(count)
      }
      expect((await listed(userId)).map(({ type }) => type)).toEqual(['otp', 'recovery-codes'])
      expect((await listed(userId))[0]?.id).toBe(kept.id)
      const other = await make()
      await created(other, { type: 'recovery-codes' })
      expect(await listed(userId)).toHaveLength(2)
    })

    it('have a salt of their own', async () => {
      const [one, other] = [await make(), await make()]
      await created(one, { type: 'recovery-codes' })
      await created(other, { type: 'recovery-codes' })
      expect((await setOf(one)).salt).not.toBe((await setOf(other)).salt)
    })

    it('set many times at once leave one set, and it is one of those that were shown', async () => {
      const userId = await make()
      const shown = await Promise.all(
        Array.from({ length: 5 }, () => created(userId, { type: 'recovery-codes' })),
      )
      const left = await listed(userId)
      expect(left).toHaveLength(1)
      expect(shown.map(({ id }) => id)).toContain(left[0]?.id)
    })
  })

  it.each(['otp', 'recovery-codes'])(
    'of type %s make the user one with a second factor',
    async (type) => {
      const userId = await make()
      const mfaEnabled = async () => (await send('GET', `/users/${userId}`)).body.mfaEnabled
      expect(await mfaEnabled()).toBe(false)
      await created(userId, { type: 'password', value: `nobody guesses ${newId()}` })
      expect(await mfaEnabled()).toBe(false)
      const { id } = await created(userId, { type })
      expect(await mfaEnabled()).toBe(true)
      await send('DELETE', `/users/${userId}/credentials/${type}/${id}`)
      expect(await mfaEnabled()).toBe(false)
    },
  )

  it.each(['otp', 'recovery-codes'])(
    'of type %s end the other sessions of the user, and nobody else’s',
    async (type) => {
      const here = await server.userWith('acme', ['manage-users'])
      const { username } = (await send('GET', `/users/${here.userId}`)).body
      const elsewhere = await server.signedIn('acme', username)
      const other = await server.userWith('acme', ['view-users'])
      expect((await set(here.userId, { type }, here)).status).toBe(201)
      expect((await here.send('GET', `${base}/users`)).status).toBe(200)
      expect((await elsewhere.send('GET', `${base}/users`)).status).toBe(401)
      expect((await other.send('GET', `${base}/users`)).status).toBe(200)
      expect((await set(here.userId, { type })).status).toBe(201)
      expect((await here.send('GET', `${base}/users`)).status).toBe(401)
    },
  )

  it.each(['otp', 'recovery-codes'])(
    'of type %s are recorded twice, without a word of what was shown',
    async (type) => {
      const userId = await make()
      const answer = await set(userId, { type })
      expect(answer.headers['cache-control']).toBe('no-store')
      const events = await server.areas.storage.db
        .selectFrom('audit_events')
        .selectAll()
        .where('resource_id', '=', userId)
        .where('type', '!=', 'ADMIN_CREATE')
        .orderBy('id')
        .execute()
      const common = { actor: server.admin.userId, outcome: 'SUCCESS', realm: 'acme', detail: type }
      expect(events).toMatchObject([
        { ...common, category: 'ADMIN', type: 'ADMIN_UPDATE' },
        { ...common, category: 'SECURITY', type: 'UPDATE_CREDENTIAL' },
      ])
      const { secret: made, codes = [made] } = answer.body
      for (const value of codes) expect(JSON.stringify(events)).not.toContain(value)
    },
  )

  it('of a user whom the caller does not outrank, or who is not there, are not set', async () => {
    const helper = await server.userWith('acme', ['manage-users'])
    const boss = await server.userWith('acme', ['realm-admin'])
    for (const type of ['otp', 'recovery-codes']) {
      expect((await set(boss.userId, { type }, helper)).status).toBe(403)
      expect((await set(newId(), { type })).status).toBe(404)
    }
    expect(await listed(boss.userId)).toEqual([])
  })

  it.each([
    ['nothing', {}, '/type', 'is required'],
    ['an unknown type', { type: 'webauthn' }, '/type', 'must be one that is known'],
    ['a type that is no text', { type: ['otp'] }, '/type', 'must be one that is known'],
    ['no password', { type: 'password' }, '/value', 'is required'],
    ['an unknown field', { type: 'otp', surprise: 1 }, '/surprise', 'unknown field'],
    ['an otp with a value', { type: 'otp', value: 'x' }, '/value', 'unknown field'],
    ['a temporary otp', { type: 'otp', temporary: true }, '/temporary', 'unknown field'],
    ['a count of otps', { type: 'otp', count: 10 }, '/count', 'unknown field'],
    ['a password with a secret', { type: 'password', value: 'x', secret }, '/secret'],
    ['codes with a secret', { type: 'recovery-codes', secret }, '/secret', 'unknown field'],
    ['labelled codes', { type: 'recovery-codes', userLabel: 'x' }, '/userLabel', 'unknown field'],
    ['codes of the caller', { type: 'recovery-codes', codes: ['x'] }, '/codes', 'unknown field'],
    ['too few codes', { type: 'recovery-codes', count: 5 }, '/count'],
    ['too many codes', { type: 'recovery-codes', count: 21 }, '/count'],
    ['half a code', { type: 'recovery-codes', count: 6.5 }, '/count'],
    ['a count as text', { type: 'recovery-codes', count: '10' }, '/count'],
    ['an empty label', { type: 'otp', userLabel: '' }, '/userLabel'],
    ['a label that cannot be stored', { type: 'otp', userLabel: '\u0000' }, '/userLabel'],
    ['a secret that is not base32', { type: 'otp', secret: secret.replace('G', '1') }, '/secret'],
    ['a secret below 128 bits', { type: 'otp', secret: secret.slice(0, 24) }, '/secret'],
    ['a secret cut off within a byte', { type: 'otp', secret: secret.slice(0, 27) }, '/secret'],
    ['an endless secret', { type: 'otp', secret: secret.repeat(5) }, '/secret'],
    ['an empty secret', { type: 'otp', secret: '' }, '/secret'],
  ])('are refused with %s, and the field is named', async (_, body, field, message?: string) => {
    const userId = await make()
    const answer = await set(userId, body)
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toEqual([
      { field, code: expect.any(String), message: message ?? expect.any(String) },
    ])
    expect(await listed(userId)).toEqual([])
  })
})
