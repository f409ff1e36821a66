/** Transactions over HTTP: bound to payload and user, signed with a key, used once by the client that made them. */

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tidy } from '#server/run/housekeeping.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant } from '../oidc/users.ts'
import { TestClock } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { type Answer, send } from '../support/server.ts'
import { newPasskey } from './passkey.ts'
import { type DeviceKey, enrolDevice, newKey, openPhone } from './phone.ts'

describe.each(backends)('transactions on $name', (backend) => {
  const clock = new TestClock()
  let site: OidcSite
  let bank: TestClient
  let wallet: TestClient
  let count = 0

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const service = { grantTypes: ['client_credentials' as const], serviceAccountsEnabled: true }
    bank = await site.client({ clientId: 'bank', ...service })
    wallet = await site.client({ clientId: 'wallet', scopes: ['account'], ...service })
  })
  afterAll(() => site.close())

  type Send = (method: string, path: string, body?: unknown) => Promise<Answer>

  const by =
    (token: string): Send =>
    (method, path, body) =>
      send(site.server.app, method, `/realms/acme/tx${path}`, body, {
        authorization: `Bearer ${token}`,
      })
  const asClient = async (client: TestClient): Promise<Send> => by(await site.token(client))
  const asUser = async (user: UserRow, client = wallet): Promise<Send> => {
    const { grant } = await issueGrant(site, client, user)
    return by(await accessTokenOf(site, client, user, grant))
  }
  /** A user with a device. */
  const newcomer = async () => {
    count += 1
    const user = await addUser(site, { username: `tina-${count}` })
    const phone = await openPhone(site.server, 'acme', user.username)
    const { id, key } = await enrolDevice(site.server, 'acme', phone)
    return { user, credentialId: id, key, as: await asUser(user) }
  }
  const pay = (userId: string, more = {}) => ({
    type: 'signing',
    payload: `{"to":"NL00BANK","amount":"10.00","nonce":"${crypto.randomUUID()}"}`,
    displayText: 'Pay € 10.00 to NL00BANK',
    userId,
    ...more,
  })
  /** By the encoding as it is documented for verifiers outside, from what a transaction tells of itself. */
  const hashOf = (told: Record<string, unknown>): string => {
    const digest = createHash('sha256')
    const { id, type, clientId, userId, payload, displayText, expiresAt } = told
    for (const field of [
      'iamctl-transaction-1',
      id,
      type,
      clientId,
      userId,
      payload,
      displayText,
      expiresAt,
    ])
      digest.update(`${Buffer.byteLength(String(field))}:${field},`)
    return digest.digest('base64url')
  }
  const signatureOf = (key: DeviceKey, hash: string): string =>
    key.sign(Buffer.from(hash, 'base64url'))

  it('are made by a client, signed by the key of a device, and used once', async () => {
    const { user, credentialId, key, as } = await newcomer()
    const client = await asClient(bank)
    const body = pay(user.id)
    const made = await client('POST', '', body)
    const { hash } = made.body
    expect(made).toMatchObject({ status: 201, body: { status: 'PENDING' } })
    expect(Object.keys(made.body).sort()).toEqual(['expiresAt', 'hash', 'id', 'status'])
    const at = `/${made.body.id}`
    const { payload, displayText } = body
    const told = (await as('GET', at)).body
    expect(told).toMatchObject({ payload, displayText, clientId: 'bank', credentialId: null })
    expect(hashOf(told)).toBe(hash)
    expect((await client('POST', `${at}/consume`)).status).toBe(409)
    const signature = signatureOf(key, hash)
    const sign = () => as('POST', `${at}/sign`, { credentialId, signature })
    const signed = await Promise.all([sign(), sign()])
    expect(signed.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await client('GET', at)).body).toMatchObject({ status: 'SIGNED', credentialId })
    expect((await sign()).status).toBe(409)
    const consumed = await Promise.all([1, 2, 3].map(() => client('POST', `${at}/consume`)))
    expect(consumed.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    expect((await client('GET', at)).body.status).toBe('CONSUMED')
    for (const [type, actor] of [
      ['CREATE_TRANSACTION', bank.id],
      ['SIGN_TRANSACTION', user.id],
      ['CONSUME_TRANSACTION', bank.id],
    ] as const)
      expect((await site.events(type))[0]).toMatchObject({
        actor,
        outcome: 'SUCCESS',
        resourceId: made.body.id,
      })
  })

  it('are signed as a whole: payload, what the user saw, type, user, client and transaction', async () => {
    const { user, credentialId, key, as } = await newcomer()
    const client = await asClient(bank)
    const body = pay(user.id)
    const told = async () =>
      (await as('GET', `/${(await client('POST', '', body)).body.id}`)).body as Record<
        string,
        string
      >
    const transaction = await told()
    const sign = (hash: string, by = key, credential = credentialId) =>
      as('POST', `/${transaction['id']}/sign`, {
        credentialId: credential,
        signature: signatureOf(by, hash),
      })
    const own = String(transaction['hash'])
    const other = await newcomer()
    const plain = createHash('sha256').update(body.payload).digest('base64url')
    const changes: readonly Record<string, unknown>[] = [
      { displayText: 'Pay € 1.00 to your savings' },
      { payload: body.payload.replace('10.00', '1.00') },
      { type: 'consent' },
      { userId: other.user.id },
      { clientId: 'wallet' },
      { expiresAt: Number(transaction['expiresAt']) + 1 },
      // What moves from one field to the next is another transaction.
      { payload: `${body.payload}P`, displayText: body.displayText.slice(1) },
      { ...(await told()) },
    ]
    for (const change of changes) {
      const hash = hashOf({ ...transaction, ...change })
      expect([hash === own, (await sign(hash)).status], JSON.stringify(change)).toEqual([
        false,
        400,
      ])
    }
    expect((await sign(plain)).status).toBe(400)
    expect((await sign(own, newKey())).status).toBe(400)
    expect((await sign(own, other.key, other.credentialId)).status).toBe(400)
    expect((await site.events('SIGN_TRANSACTION'))[0]?.outcome).toBe('FAILURE')
    expect((await sign(own)).status).toBe(200)
  })

  it('have a hash of their own: the signature of one is good for no other with the same payload', async () => {
    const { user, credentialId, key, as } = await newcomer()
    const client = await asClient(bank)
    const body = pay(user.id)
    const [first, second] = [
      (await client('POST', '', body)).body,
      (await client('POST', '', body)).body,
    ]
    const sign = (id: string, hash: string) =>
      as('POST', `/${id}/sign`, { credentialId, signature: signatureOf(key, hash) })
    expect((await sign(first.id, first.hash)).status).toBe(200)
    expect((await sign(second.id, first.hash)).status).toBe(400)
    expect((await as('GET', `/${second.id}`)).body.status).toBe('PENDING')
    expect((await sign(second.id, second.hash)).status).toBe(200)
  })

  it('are signed by a passkey too, with the hash as its challenge', async () => {
    const { user, as } = await newcomer()
    const { areas, baseUrl } = site.server
    const passkey = newPasskey(baseUrl)
    const row = passkey.credentialOf(user, areas.given.clock.now())
    await areas.storage.commit(insertRows(areas.storage.db, 'credentials', [row]))
    const client = await asClient(bank)
    const { id, hash } = (await client('POST', '', pay(user.id))).body
    const other = (await client('POST', '', pay(user.id))).body
    const sign = (assertion: object, credentialId = row.id) =>
      as('POST', `/${id}/sign`, { credentialId, assertion })
    expect((await sign(passkey.assert(other.hash))).status).toBe(400)
    expect((await sign(newPasskey('https://evil.example').assert(hash))).status).toBe(400)
    expect((await sign(passkey.assert(hash), user.id)).status).toBe(400)
    const signed = await sign(passkey.assert(hash))
    expect(signed.body).toMatchObject({ id, status: 'SIGNED' })
  })

  it('are there for their user and for the client that made them, in their realm', async () => {
    const { user, credentialId, key, as } = await newcomer()
    const other = await newcomer()
    const [client, another] = [await asClient(bank), await asClient(wallet)]
    const body = pay(user.id)
    const { id, hash } = (await client('POST', '', body)).body
    const signing = { credentialId, signature: signatureOf(key, hash) }
    expect((await other.as('GET', `/${id}`)).status).toBe(404)
    expect((await other.as('POST', `/${id}/sign`, signing)).status).toBe(404)
    expect((await another('GET', `/${id}`)).status).toBe(404)
    expect((await client('POST', `/${id}/sign`, signing)).status).toBe(404)
    expect((await as('POST', `/${id}/sign`, signing)).status).toBe(200)
    for (const stranger of [another, as, other.as, await asUser(other.user, bank)])
      expect((await stranger('POST', `/${id}/consume`)).status).toBe(404)
    const token = await site.token(bank)
    const elsewhere = await send(site.server.app, 'GET', `/realms/master/tx/${id}`, undefined, {
      authorization: `Bearer ${token}`,
    })
    expect(elsewhere.status).toBe(401)
    const nobody = await site.server.anonymous.send('GET', `/realms/acme/tx/${id}`)
    expect([nobody.status, nobody.headers['www-authenticate']]).toEqual([
      401,
      expect.stringContaining('Bearer realm="acme"'),
    ])
    expect((await client('POST', `/${id}/consume`)).status).toBe(200)
  })

  it('come too late after their time, whether signed or not, and are removed then', async () => {
    const { user, credentialId, key } = await newcomer()
    const client = await asClient(bank)
    const [body, late] = [pay(user.id, { ttl: 30 }), pay(user.id, { ttl: 30 })]
    const { id: signed, hash } = (await client('POST', '', body)).body
    const { id: unsigned, hash: lateHash } = (await client('POST', '', late)).body
    const sign = async (id: string, digest: string) => {
      const signature = signatureOf(key, digest)
      return (await asUser(user))('POST', `/${id}/sign`, { credentialId, signature })
    }
    expect((await sign(signed, hash)).status).toBe(200)
    clock.advance(30_000)
    expect((await sign(unsigned, lateHash)).status).toBe(410)
    expect((await client('POST', `/${signed}/consume`)).status).toBe(410)
    expect((await client('GET', `/${signed}`)).body.status).toBe('EXPIRED')
    clock.advance(60 * 60_000)
    await tidy(site.server.areas)
    expect((await (await asClient(bank))('GET', `/${signed}`)).status).toBe(404)
  })

  it('are made by users for themselves, and by clients for somebody who is there', async () => {
    const { user, as } = await newcomer()
    const other = await newcomer()
    const client = await asClient(bank)
    const { userId: _, ...unnamed } = pay(user.id)
    expect((await as('POST', '', unnamed)).status).toBe(201)
    expect((await as('POST', '', pay(other.user.id))).status).toBe(400)
    for (const body of [unnamed, pay('nobody'), pay(bank.id)]) {
      const answer = await client('POST', '', body)
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, '/userId'])
    }
  })

  it('are not for the own token of a client that users must allow, or whose subjects are pairwise: it names no user', async () => {
    const { user } = await newcomer()
    const service = { grantTypes: ['client_credentials' as const], serviceAccountsEnabled: true }
    const strangers = [
      await site.client({ clientId: 'asking', consentRequired: true, ...service }),
      await site.client({ clientId: 'paired', subjectClaim: 'pairwise', ...service }),
    ]
    for (const stranger of strangers) {
      const client = await asClient(stranger)
      for (const userId of [user.id, user.username, 'nobody']) {
        const { status, headers } = await client('POST', '', pay(userId))
        expect(status).toBe(403)
        expect(headers['www-authenticate']).toContain('error="insufficient_scope"')
      }
    }
  })

  it('take bodies with the fields that are known, within their bounds', async () => {
    const { user, credentialId, key, as } = await newcomer()
    const client = await asClient(bank)
    const wrong = [
      { more: 1 },
      { type: 'other' },
      { payload: '' },
      { payload: 'x'.repeat(8193) },
      { payload: { amount: 1 } },
      { displayText: 'x'.repeat(2001) },
      { ttl: 29 },
      { ttl: 3601 },
      { ttl: '60' },
    ]
    for (const change of wrong)
      expect((await client('POST', '', { ...pay(user.id), ...change })).status).toBe(400)
    const huge = await client('POST', '', pay(user.id, { displayText: 'x'.repeat(40_000) }))
    expect(huge.status).toBe(413)
    const body = pay(user.id)
    const { id, hash } = (await client('POST', '', body)).body
    const signature = signatureOf(key, hash)
    for (const signing of [
      { credentialId },
      { credentialId, signature, assertion: {} },
      { credentialId, signature, more: 1 },
      { credentialId, assertion: {} },
      { signature },
    ])
      expect((await as('POST', `/${id}/sign`, signing)).status).toBe(400)
  })

  it('need a device, which a token permits only where its sign-in was strong enough', async () => {
    const { user } = await newcomer()
    const { grant } = await issueGrant(site, wallet, user)
    const permit = (token: string) =>
      send(site.server.app, 'POST', '/realms/acme/account/devices', undefined, {
        authorization: `Bearer ${token}`,
      })
    const scope = ['openid', 'account']
    const weak = await permit(await accessTokenOf(site, wallet, user, grant, scope))
    expect([weak.status, weak.body.code]).toEqual([403, 'step-up'])
    const newbie = await addUser(site, { username: `newbie-${count}` })
    const first = await issueGrant(site, wallet, newbie)
    const token = await accessTokenOf(site, wallet, newbie, first.grant, scope)
    expect((await permit(token)).status).toBe(201)
  })
})
