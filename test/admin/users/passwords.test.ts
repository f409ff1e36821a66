/** Passwords that an administrator sets: refusals with reasons, ended sessions, audit events. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#server/platform/ids.ts'
import { backends } from '../../support/backends.ts'
import { startServer, type TestServer } from '../../support/server.ts'

const strong = (): string => `nobody guesses ${newId()}`

describe.each(backends)('passwords on $name', (backend) => {
  let server: TestServer
  let base: string
  let realm: string
  beforeAll(async () => {
    server = await startServer(backend)
  })
  beforeEach(async () => {
    realm = `acme-${newId().slice(-6)}`
    base = await server.createRealm(realm)
  })
  afterAll(() => server.close())

  const send = (method: string, url: string, body?: unknown) => server.admin.send(method, url, body)
  const make = async (fields: object = {}) => {
    const { body } = await send('POST', `${base}/users`, { username: `u-${newId()}`, ...fields })
    return body as { userId: string; username: string }
  }
  const set = (userId: string, newPassword: unknown) =>
    send('PUT', `${base}/users/${userId}/password`, { newPassword })
  const policy = async (change: object): Promise<void> => {
    const { body } = await send('GET', `${base}/settings`)
    const passwordPolicy = { ...body.passwordPolicy, ...change }
    const answer = await send('PUT', `${base}/settings`, { ...body, passwordPolicy })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  }
  const matches = async (userId: string, password: string): Promise<boolean> => {
    const stored = await server.areas.storage.db
      .selectFrom('credentials')
      .select(['id', 'secret'])
      .where('user_id', '=', userId)
      .where('type', '=', 'password')
      .executeTakeFirst()
    const who = { realm, name: userId, userId }
    return (await server.areas.credentials.passwords.verify(who, stored ?? null, password)).matches
  }

  it('are set, answered with 204 and nothing, and kept as an Argon2id hash', async () => {
    const { userId } = await make()
    const password = strong()
    expect(await set(userId, password)).toMatchObject({ status: 204, body: '' })
    expect(await matches(userId, password)).toBe(true)
    const rows = await server.areas.storage.db
      .selectFrom('credentials')
      .selectAll()
      .where('user_id', '=', userId)
      .execute()
    expect(rows).toHaveLength(1)
    expect(rows[0]?.secret).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  it('are refused by the policy, each rule with its code and the field', async () => {
    const { userId, username } = await make({ email: 'owner.of.it@example.org' })
    await policy({
      digits: 1,
      upperCase: 1,
      lowerCase: 1,
      specialChars: 1,
      maxLength: 64,
      notContainsUsername: true,
      regexPattern: '^[^~]+$',
      passwordBlacklist: ['Correct-Horse-1'],
    })
    for (const [password, code] of [
      ['Short-1', 'password.minLength'],
      [`Aa1-${'x'.repeat(100)}`, 'password.maxLength'],
      ['No-Digits-At-All', 'password.digits'],
      ['NO-LOWER-CASE-1', 'password.lowerCase'],
      ['no-upper-case-1', 'password.upperCase'],
      ['NoSpecialChars1', 'password.specialChars'],
      [`${username.toUpperCase()}-Aa1`, 'password.notContainsUsername'],
      ['With-A-Tilde-1~', 'password.regexPattern'],
      ['correct-HORSE-1', 'password.blacklisted'],
    ] as const) {
      const answer = await set(userId, password)
      expect(answer, password).toMatchObject({ status: 400, body: { code: 'validation' } })
      expect(answer.body.errors).toContainEqual(
        expect.objectContaining({ field: '/newPassword', code, message: expect.any(String) }),
      )
      expect(JSON.stringify(answer.body)).not.toContain(password)
    }
    await policy({
      digits: 0,
      upperCase: 0,
      lowerCase: 0,
      specialChars: 0,
      maxLength: 256,
      notContainsUsername: false,
      regexPattern: undefined,
      passwordBlacklist: [],
    })
    for (const [password, code] of [
      [username, 'password.notUsername'],
      ['OWNER.of.it@example.org', 'password.notEmail'],
      ['1q2w3e4r5t6y', 'password.breached'],
    ] as const)
      expect((await set(userId, password)).body.errors, password).toContainEqual(
        expect.objectContaining({ field: '/newPassword', code }),
      )
    expect(await matches(userId, 'Short-1')).toBe(false)
  })

  it('are not one of those used before, as many as the realm remembers', async () => {
    await policy({ passwordHistory: 3 })
    const { userId } = await make()
    const [a, b, c, d] = [strong(), strong(), strong(), strong()]
    for (const password of [a, b, c]) expect((await set(userId, password)).status).toBe(204)
    for (const password of [a, b, c])
      expect((await set(userId, password)).body.errors).toEqual([
        expect.objectContaining({ field: '/newPassword', code: 'password.history' }),
      ])
    expect((await set(userId, d)).status).toBe(204)
    expect((await set(userId, a)).status).toBe(204)
  })

  it('that are missing, no text or too long are 400', async () => {
    const { userId } = await make()
    const url = `${base}/users/${userId}/password`
    for (const body of [
      {},
      { newPassword: '' },
      { newPassword: 1 },
      { newPassword: null },
      { password: strong() },
    ])
      expect((await send('PUT', url, body)).status, JSON.stringify(body)).toBe(400)
    expect((await set(userId, 'x'.repeat(1025))).status).toBe(400)
    expect((await send('PUT', url, { newPassword: strong(), temporary: true })).status).toBe(400)
    expect((await set(newId(), strong())).status).toBe(404)
  })

  it('end every session of the user, and only of this user', async () => {
    const user = await server.userWith(realm, ['view-users'])
    const again = await server.signedIn(
      realm,
      (await send('GET', `${base}/users/${user.userId}`)).body.username,
    )
    const other = await server.userWith(realm, ['view-users'])
    await set(user.userId, strong())
    for (const client of [user, again])
      expect((await client.send('GET', `${base}/users`)).status).toBe(401)
    expect((await other.send('GET', `${base}/users`)).status).toBe(200)
  })

  it('that administrators set for themselves end their other sessions', async () => {
    const here = await server.userWith(realm, ['manage-users'])
    const { body } = await send('GET', `${base}/users/${here.userId}`)
    const elsewhere = await server.signedIn(realm, body.username)
    const answer = await here.send('PUT', `${base}/users/${here.userId}/password`, {
      newPassword: strong(),
    })
    expect(answer.status).toBe(204)
    expect((await here.send('GET', `${base}/users`)).status).toBe(200)
    expect((await elsewhere.send('GET', `${base}/users`)).status).toBe(401)
  })

  it('set as a credential or by an import end sessions in the same way', async () => {
    const here = await server.userWith(realm, ['manage-users'])
    const { username } = (await send('GET', `${base}/users/${here.userId}`)).body
    const elsewhere = await server.signedIn(realm, username)
    const made = await here.send('POST', `${base}/users/${here.userId}/credentials`, {
      type: 'password',
      value: strong(),
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect((await here.send('GET', `${base}/users`)).status).toBe(200)
    expect((await elsewhere.send('GET', `${base}/users`)).status).toBe(401)

    const value = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
    const overwrite = (user: object) =>
      send('POST', `${base}/users/import`, {
        ifResourceExists: 'OVERWRITE',
        users: [{ username, ...user }],
      })
    const costly = value.replace('m=19456', 'm=4194304')
    expect(await overwrite({ credentials: [{ type: 'password', value: costly }] })).toMatchObject({
      status: 400,
      body: { errors: [{ field: '/users/0/credentials/0/value' }] },
    })
    expect(await overwrite({ email: 'no address' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: '/users/0/email' }] },
    })
    expect((await here.send('GET', `${base}/users`)).status).toBe(200)
    const done = await overwrite({ credentials: [{ type: 'password', value }] })
    expect(done, JSON.stringify(done.body)).toMatchObject({ status: 200, body: { overwritten: 1 } })
    expect((await here.send('GET', `${base}/users`)).status).toBe(401)
    const [reset] = (await send('GET', `${base}/events?type=RESET_PASSWORD`)).body.items
    expect(reset).toMatchObject({ resourceId: here.userId, detail: 'imported' })

    const other = await server.userWith(realm, ['view-users'])
    const name = (await send('GET', `${base}/users/${other.userId}`)).body.username
    await overwrite({ username: name, enabled: false })
    expect((await other.send('GET', `${base}/users`)).status).toBe(401)
  })

  it('are recorded as an act of the administrator and as a matter of security, without a word of them', async () => {
    const { userId } = await make()
    const password = strong()
    await set(userId, password)
    const events = await server.areas.storage.db
      .selectFrom('audit_events')
      .selectAll()
      .where('resource_id', '=', userId)
      .where('type', '!=', 'ADMIN_CREATE')
      .orderBy('id')
      .execute()
    const common = {
      actor: server.admin.userId,
      outcome: 'SUCCESS',
      resource_type: 'users',
      realm,
    }
    expect(events).toMatchObject([
      { ...common, category: 'ADMIN', type: 'ADMIN_UPDATE', detail: 'password' },
      { ...common, category: 'SECURITY', type: 'RESET_PASSWORD' },
    ])
    expect(JSON.stringify(events)).not.toContain(password)
  })

  it('that are refused are not recorded and change nothing', async () => {
    const user = await server.userWith(realm, ['view-users'])
    const before = await server.areas.storage.db.selectFrom('audit_events').select('id').execute()
    expect((await set(user.userId, 'short')).status).toBe(400)
    const after = await server.areas.storage.db.selectFrom('audit_events').select('id').execute()
    expect(after).toEqual(before)
    expect((await user.send('GET', `${base}/users`)).status).toBe(200)
  })

  it('set many times at once leave one, and it is one of them', async () => {
    const { userId } = await make()
    const wanted = Array.from({ length: 5 }, strong)
    const answers = await Promise.all(wanted.map((password) => set(userId, password)))
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(204))
    const found = await Promise.all(wanted.map((password) => matches(userId, password)))
    expect(found.filter(Boolean)).toHaveLength(1)
  })

  it('sign the user in, and the old one no longer does', async () => {
    const { userId, username } = await make()
    const [old, fresh] = [strong(), strong()]
    await set(userId, old)
    await set(userId, fresh)
    const settings = await server.areas.realm.settingsOf(realm)
    if (!settings) throw new Error('no settings')
    const attempt = async (password: string) =>
      (
        await server.areas.credentials.authenticator.attempt(
          { realm, settings, name: username, password, address: '127.0.0.1' },
          () => ({ statements: [], events: [], value: null }),
        )
      ).outcome
    expect(await attempt(old)).toBe('failure')
    expect(await attempt(fresh)).toBe('success')
  })
})
