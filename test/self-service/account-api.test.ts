/**
 * The account API by access token: only tokens for the account API are accepted, and changes of credentials need a recent
 * step-up.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { clientOf } from '#server/tokens/client.ts'
import type { AccessTokenRequest } from '#server/tokens/mint.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../oidc/fixture.ts'
import { addUser, issueGrant, issuerOf } from '../oidc/users.ts'
import { type Operation, operationsIn, readDocument } from '../openapi/document.ts'
import { backends } from '../support/backends.ts'
import { type Answer, send } from '../support/server.ts'

const minute = 60_000
const api = 'https://api.example'

/** Bodies that would be taken. */
const bodies: Readonly<Record<string, object>> = {
  'replace-own-profile': { email: 'x@evil.example', firstName: null, lastName: null },
  'replace-own-password': { newPassword: 'a long enough secret 78' },
  'confirm-own-totp': { ticket: 'x', code: '123456' },
  'confirm-own-webauthn': { response: {} },
  'confirm-own-recovery-codes': { ticket: 'x' },
}

/** What changes how the user signs in, where their mail goes, or whether there is a user. */
const grave = [
  'replace-own-profile',
  'replace-own-password',
  'remove-own-credential',
  'begin-own-totp',
  'confirm-own-totp',
  'begin-own-webauthn',
  'confirm-own-webauthn',
  'begin-own-recovery-codes',
  'confirm-own-recovery-codes',
  'permit-own-device',
  'erase-own-account',
  'request-own-erasure',
]

describe.each(backends)('the account API on $name', (backend) => {
  let site: OidcSite
  let portal: TestClient
  let plain: TestClient
  let operations: Operation[] = []
  let count = 0
  beforeAll(async () => {
    site = await openIssuer(backend)
    portal = await site.client({
      clientId: 'portal',
      scopes: ['account', 'profile'],
    })
    plain = await site.client({ clientId: 'plain', fullScopeAllowed: true, audiences: [api] })
    const isForm = ({ requestBody }: Operation) =>
      Object.keys(requestBody?.content ?? {}).some((type) => type.includes('form'))
    operations = operationsIn(await readDocument(site.server)).filter(
      (one) =>
        one.path.startsWith('/realms/{realm}/account/') &&
        !isForm(one) &&
        !one.operationId.startsWith('show-'),
    )
  })
  afterAll(() => site.close())

  const newcomer = () => {
    count += 1
    const username = `user${count}`
    return addUser(site, { username, email: `${username}@shop.example` })
  }
  const now = () => site.server.areas.given.clock.now()

  const tokenOf = async (
    user: UserRow,
    client: TestClient,
    scope: readonly string[],
    {
      authTime = now(),
      acr = '1',
      ...more
    }: Partial<AccessTokenRequest> & {
      readonly authTime?: number
      readonly acr?: string
    } = {},
  ): Promise<string> => {
    const issuer = await issuerOf(site)
    const document = await issuer.view.byId('client', client.id)
    if (!document) throw new Error(`no client ${client.clientId}`)
    const { grant } = await issueGrant(site, client, user, { scope })
    const { token } = await site.server.areas.tokens.mint.accessToken({
      issuer,
      client: clientOf(document),
      user,
      scope,
      authentication: { grantId: grant.id, authTime, acr },
      ...more,
    })
    return token
  }
  const call = (token: string, { method, path, operationId, requestBody }: Operation) =>
    send(
      site.server.app,
      method,
      path.replace('{realm}', 'acme').replace(/\{\w+\}/, '0'),
      requestBody ? (bodies[operationId] ?? {}) : undefined,
      { authorization: `Bearer ${token}` },
    )
  const tryAll = async (token: string, wanted = operations): Promise<[string, Answer][]> => {
    const answers: [string, Answer][] = []
    for (const one of wanted) answers.push([one.operationId, await call(token, one)])
    return answers
  }
  const serious = () => operations.filter(({ operationId }) => grave.includes(operationId))
  const state = async ({ id }: UserRow) => {
    const {
      storage,
      users: { store: users },
    } = site.server.areas
    const of = (table: 'credentials' | 'device_enrolments' | 'erasure_requests') =>
      storage.db.selectFrom(table).selectAll().where('user_id', '=', id).execute()
    return JSON.stringify([
      await users.find('acme', id),
      await of('credentials'),
      await of('device_enrolments'),
      await of('erasure_requests'),
    ])
  }

  it('is asked about at every address', () => {
    expect(operations.length).toBeGreaterThan(20)
    expect(
      serious()
        .map(({ operationId }) => operationId)
        .sort(),
    ).toEqual([...grave].sort())
  })

  it('is the audience of a token with the scope account, of a client that is configured to ask for it', async () => {
    const ann = await newcomer()
    const audience = (token: string) => [claimsOf(token)['aud']].flat()
    const own = `${site.issuer}/account`
    expect(audience(await tokenOf(ann, portal, ['openid', 'account']))).toEqual([site.issuer, own])
    expect(audience(await tokenOf(ann, portal, ['openid']))).toEqual([site.issuer])
    expect(audience(await tokenOf(ann, plain, ['openid', 'account']))).not.toContain(own)
    const refused = await site.post('/token', {
      grant_type: 'client_credentials',
      client_id: plain.clientId,
      client_secret: plain.secret,
      scope: 'openid account',
    })
    expect(refused.status).toBe(400)
    await expect(site.client({ clientId: 'greedy', defaultScopes: ['account'] })).rejects.toThrow(
      'defaultScopes',
    )
  })

  it('is closed to tokens of the scope openid, without the audience, or for another one, at every address', async () => {
    const ann = await newcomer()
    const before = await state(ann)
    const tokens: readonly [string, number, string][] = [
      ['openid', 403, await tokenOf(ann, portal, ['openid', 'profile'])],
      ['of a client that may not ask', 403, await tokenOf(ann, plain, ['openid'])],
      ['with the scope by another way', 401, await tokenOf(ann, plain, ['openid', 'account'])],
      ['narrowed', 401, await tokenOf(ann, portal, ['openid', 'account'], { resources: [api] })],
      [
        'of an actor',
        401,
        await tokenOf(ann, portal, ['openid', 'account'], { claims: { act: { sub: 'x' } } }),
      ],
    ]
    for (const [name, status, token] of tokens)
      for (const [operation, answer] of await tryAll(token)) {
        expect([name, operation, answer.status]).toEqual([name, operation, status])
        expect(answer.headers['www-authenticate'], name).toContain(
          status === 403 ? 'scope="account"' : 'error="invalid_token"',
        )
      }
    expect(await state(ann)).toBe(before)
  })

  it('is open to its tokens; what is grave wants a sign-in of the last five minutes, which a silent one is not', async () => {
    const ann = await newcomer()
    const before = await state(ann)
    const scope = ['openid', 'account']
    for (const authTime of [now() - 5 * minute - 1000, now() - 20 * minute])
      for (const [operation, answer] of await tryAll(
        await tokenOf(ann, portal, scope, { authTime, acr: '2' }),
        serious(),
      )) {
        expect([operation, answer.status, answer.body.code]).toEqual([operation, 403, 'step-up'])
        expect(answer.headers['www-authenticate'], operation).toBe(
          'Bearer error="insufficient_user_authentication", max_age="300"',
        )
      }
    expect(await state(ann)).toBe(before)
    const old = await tokenOf(ann, portal, scope, { authTime: now() - 20 * minute })
    const reads = operations.filter(({ method }) => method === 'GET')
    for (const [operation, { status }] of await tryAll(old, reads))
      expect([operation, status]).toEqual([operation, 200])
    for (const operation of serious()) {
      const recent = await tokenOf(await newcomer(), portal, scope)
      expect([401, 403], operation.operationId).not.toContain(
        (await call(recent, operation)).status,
      )
    }
  })

  it('does nothing grave for a user with a second factor who has not used it', async () => {
    const ann = await newcomer()
    await site.admin('POST', `/users/${ann.id}/credentials`, { type: 'otp' })
    const before = await state(ann)
    const weak = await tokenOf(ann, portal, ['openid', 'account'])
    for (const [operation, answer] of await tryAll(weak, serious())) {
      expect([operation, answer.status, answer.body.code]).toEqual([operation, 403, 'step-up'])
      expect(answer.headers['www-authenticate'], operation).toContain('acr_values="2"')
    }
    expect(await state(ann)).toBe(before)
  })

  it.each(['directly', 'by a group', 'by a composite'])(
    'does nothing grave for a user who holds a permission %s, however they signed in',
    async (way) => {
      const ann = await newcomer()
      // The seeded role holds permissions to see clients, users and events.
      const name = `${way.replaceAll(' ', '-')}-${count}`
      const { body: outer } = await site.admin('POST', '/roles', { name, composites: ['auditor'] })
      if (way === 'by a group') {
        const { body: group } = await site.admin('POST', '/groups', { name })
        await site.admin('PUT', `/groups/${group.groupId}/roles/${outer.roleId}`)
        await site.admin('PUT', `/groups/${group.groupId}/members/${ann.id}`)
      } else
        await site.admin('POST', `/users/${ann.id}/roles`, {
          name: way === 'directly' ? 'auditor' : name,
        })
      const before = await state(ann)
      const token = await tokenOf(ann, portal, ['openid', 'account'], { acr: '2' })
      for (const [operation, answer] of await tryAll(token, serious())) {
        expect([operation, answer.status, answer.body.code]).toEqual([operation, 403, 'forbidden'])
        expect(answer.body.detail, operation).toContain('account pages')
      }
      expect(await state(ann)).toBe(before)
      const profile = operations.find(({ operationId }) => operationId === 'read-own-profile')
      expect(profile && (await call(token, profile)).status).toBe(200)
    },
  )
})
