/** The exchange of codes: client, single use, PKCE, and the effect of a second use (RFC 6749 §4.1.3, RFC 7636). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { insertRows, statement } from '#server/storage/statements.ts'
import { backends } from '../../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type Reply, type TestClient } from '../../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  newVerifier,
  type Person,
  redirectUri,
} from '../../relying-party.ts'

const resource = 'https://api.example/'

describe.each(backends)('codes on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let client: TestClient
  let open: TestClient
  let other: TestClient
  let alice: Person
  let aliceId: string

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    const common = {
      grantTypes: ['authorization_code', 'refresh_token'] as 'authorization_code'[],
      redirectUris: [redirectUri, 'https://app.example/other'],
      scopes: ['profile', 'offline_access'],
    }
    client = await site.client({ clientId: 'web', ...common })
    open = await site.client({ clientId: 'spa', publicClient: true, ...common })
    other = await site.client({ clientId: 'other', ...common })
    const resources = [resource, `${resource}two`]
    await site.admin('PUT', `/clients/${client.id}/allowed-resources`, resources)
    aliceId = await addPerson(site, 'alice')
    alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
  }, 60_000)
  afterAll(() => site.close())

  const newCode = async (asked: Record<string, string> = {}, of = client): Promise<string> =>
    codeOf(await alice.open(authorizeUrl(site, of, asked)))

  const refresh = (refresh_token: string): Promise<Reply> =>
    site.post('/token', {
      grant_type: 'refresh_token',
      refresh_token,
      client_id: client.clientId,
      client_secret: client.secret,
    })

  const isRefused = async (
    code: string,
    fields: Record<string, string> = {},
    of = client,
    error = 'invalid_grant',
  ): Promise<void> => {
    const { status, body } = await exchange(site, of, code, fields)
    expect([status, body.error]).toEqual([400, error])
    expect(body.access_token).toBeUndefined()
  }

  const isActive = async (token: string): Promise<boolean> =>
    (
      await site.post('/introspect', {
        token,
        client_id: client.clientId,
        client_secret: client.secret,
      })
    ).body.active

  it('are good once: of 50 exchanges at the same moment one succeeds (CVE-2026-1035)', async () => {
    const code = await newCode()
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => exchange(site, client, code)),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, body } of answers)
      if (status !== 200) expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })

  it.each(['openid', 'openid organization:north', 'a made-up scope'])(
    'pass over a scope that is sent along, which the exchange has not (RFC 6749 §3.2): %s',
    async (scope) => {
      const { status, body } = await exchange(site, client, await newCode(), { scope })
      expect([status, body.scope]).toEqual([200, 'openid'])
    },
  )

  it('end what they gave when they come again (RFC 6749 §4.1.2)', async () => {
    const code = await newCode({ scope: 'openid offline_access' })
    const { body } = await exchange(site, client, code)
    expect(await isActive(body.access_token)).toBe(true)
    await isRefused(code)
    expect(await isActive(body.access_token)).toBe(false)
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant')
    const [latest] = await site.events('CODE_TO_TOKEN')
    expect(latest).toMatchObject({ outcome: 'FAILURE', actor: client.id })
    expect(latest?.detail).toContain('used before')
  })

  it('end what they gave when they come again after they were forgotten, from their client', async () => {
    const { areas } = site.server
    const code = await newCode({ scope: 'openid offline_access' })
    const first = await exchange(site, client, code)
    const unused = await newCode()
    now += 5 * 60_000
    await tidy(areas)
    expect(await areas.tokens.grantsStore.findCode('acme', code)).toBeUndefined()
    await isRefused(unused)
    await isRefused(code, {}, other)
    await isRefused(`${code.slice(0, 10)}${code[10] === 'A' ? 'B' : 'A'}${code.slice(11)}`)
    const { status, body } = await refresh(first.body.refresh_token)
    expect(status).toBe(200)
    await isRefused(code)
    expect(await isActive(body.access_token)).toBe(false)
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant')
  })

  it('are not ended by a client that they were not made for, which gets nothing', async () => {
    const code = await newCode()
    await isRefused(code, {}, other)
    const { status, body } = await exchange(site, client, code)
    expect(status).toBe(200)
    await isRefused(code, {}, other)
    expect(await isActive(body.access_token)).toBe(true)
  })

  it('are good for a minute', async () => {
    const code = await newCode()
    now += 60_000
    await isRefused(code)
  })

  it.each([
    ['another of the client', 'https://app.example/other'],
    ['one that means the same', 'https://app.example:443/callback'],
    ['one with a slash more', `${redirectUri}/`],
  ])('belong to the redirect URI they were sent to, not to %s', async (_name, uri) => {
    const code = await newCode()
    await isRefused(code, { redirect_uri: uri })
    await isRefused(code, { redirect_uri: '' }, client, 'invalid_request')
    expect((await exchange(site, client, code)).status).toBe(200)
  })

  it.each(['', 'x', 'A'.repeat(43), '\0', '../../x', "' or 1=1 --"])(
    'are not made up: %j',
    async (code) => {
      await isRefused(code, {}, client, code === '' ? 'invalid_request' : 'invalid_grant')
    },
  )

  describe('with PKCE', () => {
    const asked = (challenge: string, method = 'S256') => ({
      code_challenge: challenge,
      code_challenge_method: method,
    })

    it('are exchanged with the verifier, by public and by confidential clients', async () => {
      for (const one of [open, client]) {
        const { verifier, challenge } = newVerifier()
        const code = await newCode(asked(challenge), one)
        const { status, body } = await exchange(site, one, code, { code_verifier: verifier })
        expect(status).toBe(200)
        expect(claimsOf(body.id_token)['aud']).toBe(one.clientId)
      }
    })

    it('are exchanged without a redirect_uri, as by clients of OAuth 2.1, and compared with one that is sent', async () => {
      for (const one of [open, client]) {
        const { verifier, challenge } = newVerifier()
        const code = await newCode(asked(challenge), one)
        const verified = { code_verifier: verifier }
        await isRefused(code, { ...verified, redirect_uri: 'https://app.example/other' }, one)
        await isRefused(code, { redirect_uri: '' }, one)
        const { status } = await exchange(site, one, code, { ...verified, redirect_uri: '' })
        expect(status).toBe(200)
      }
    })

    it('are refused without, with an empty, a wrong or a malformed verifier (CVE-2023-48228)', async () => {
      const { verifier, challenge } = newVerifier()
      const code = await newCode(asked(challenge))
      for (const fields of [
        {},
        { code_verifier: '' },
        { code_verifier: newVerifier().verifier },
        { code_verifier: challenge },
        { code_verifier: verifier.slice(0, 42) },
        { code_verifier: `${verifier}=` },
        { code_verifier: `${verifier} ` },
        { code_verifier: 'é'.repeat(43) },
        { code_verifier: 'a'.repeat(129) },
      ])
        await isRefused(code, fields)
      expect((await exchange(site, client, code, { code_verifier: verifier })).status).toBe(200)
    })

    it('are refused with a verifier that no challenge was sent for (CVE-2024-23647)', async () => {
      const code = await newCode()
      await isRefused(code, { code_verifier: newVerifier().verifier })
    })

    it.each([
      ['no challenge', {}],
      ['plain', asked('A'.repeat(43), 'plain')],
      ['no method, which means plain', { code_challenge: 'A'.repeat(43) }],
      ['a method of another case', asked('A'.repeat(43), 's256')],
      ['a method without a challenge', { code_challenge_method: 'S256' }],
      ['a short challenge', asked('A'.repeat(42))],
      ['a long challenge', asked('A'.repeat(44))],
      ['a challenge that is no base64url', asked(`${'A'.repeat(42)}=`)],
    ])('are not given to a public client with %s', async (_name, fields) => {
      const answer = answerOf(await alice.open(authorizeUrl(site, open, fields)))
      expect(answer).toMatchObject({ error: 'invalid_request', state: 'a state' })
    })

    it('are not given to a confidential client that asks for plain', async () => {
      const url = authorizeUrl(site, client, asked('A'.repeat(43), 'plain'))
      expect(answerOf(await alice.open(url))['error']).toBe('invalid_request')
    })
  })

  it('carry the resources, which the exchange may narrow and not widen (RFC 8707 §2.2)', async () => {
    const aud = async (asked: Record<string, string>, fields: Record<string, string>) =>
      claimsOf((await exchange(site, client, await newCode(asked), fields)).body.access_token)[
        'aud'
      ]
    expect(await aud({ resource }, {})).toBe(resource)
    expect(await aud({ resource }, { resource })).toBe(resource)
    await isRefused(
      await newCode({ resource }),
      { resource: `${resource}two` },
      client,
      'invalid_target',
    )
  })

  it('end with the session, the user, and what is revoked for either', async () => {
    const carol = newPerson(site)
    const carolId = await addPerson(site, 'carol')
    const codeOfCarol = async (asked = {}): Promise<string> =>
      codeOf(await carol.signIn(authorizeUrl(site, client, asked), 'carol'))

    const { storage, sessions } = site.server.areas
    const { db } = storage
    for (const asked of [{}, { scope: 'openid offline_access' }]) {
      const code = await codeOfCarol(asked)
      const { sid } = await db
        .selectFrom('sessions')
        .select('sid')
        .where('user_id', '=', carolId)
        .executeTakeFirstOrThrow()
      await storage.commit(sessions.revokeStatements('acme', sid))
      await isRefused(code)
    }
    const disabled = await codeOfCarol()
    await change(site, `/users/${carolId}`, { enabled: false })
    await isRefused(disabled)
    await change(site, `/users/${carolId}`, { enabled: true })

    const before = await codeOfCarol()
    now += 1000
    const since = { realm: 'acme', subject_kind: 'client', subject_id: client.id, at: now } as const
    await storage.commit(insertRows(db, 'not_before', [since]))
    await isRefused(before)
    await storage.commit([statement(db.deleteFrom('not_before'))])
  })

  it('give a refresh token to clients that may use one, and to no other', async () => {
    const plain = await site.client({
      clientId: 'no-refresh',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    const { body } = await exchange(site, plain, await newCode({}, plain))
    expect(body.access_token).toBeTruthy()
    expect(body.refresh_token).toBeUndefined()
  })

  it('give a grant that outlives the session only with offline_access', async () => {
    const dave = newPerson(site)
    const daveId = await addPerson(site, 'dave')
    const grantOf = async (scope: string) => {
      const code = codeOf(await dave.signIn(authorizeUrl(site, client, { scope }), 'dave'))
      return (await exchange(site, client, code)).body
    }
    const online = await grantOf('openid')
    const offline = await grantOf('openid offline_access')
    const { sid } = claimsOf(online.id_token)
    const { areas } = site.server
    await areas.storage.commit(areas.sessions.revokeStatements('acme', String(sid)))
    expect(await isActive(online.access_token)).toBe(false)
    expect(await isActive(offline.access_token)).toBe(true)
    await areas.storage.commit(areas.sessions.revokeAllOf(daveId))
    expect(await isActive(offline.access_token)).toBe(false)
  })

  it('are recorded when they are exchanged, with the user', async () => {
    await exchange(site, client, await newCode())
    const [event] = await site.events('CODE_TO_TOKEN')
    expect(event).toMatchObject({ outcome: 'SUCCESS', actor: aliceId })
  })

  it('are of one realm', async () => {
    await site.server.createRealm('globex')
    const code = await newCode()
    const elsewhere = await fetch(`${site.server.baseUrl}/realms/globex/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: client.clientId,
        client_secret: client.secret,
        redirect_uri: redirectUri,
        code,
      }),
    })
    expect(elsewhere.status).toBe(401)
  })
})
