/** The authorization endpoint: signing in for a client, and coming back to it (RFC 6749 §4.1, OIDC Core §3.1). */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  password,
  redirectUri,
} from '../relying-party.ts'

describe.each(backends)('the authorization endpoint on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let client: TestClient
  let aliceId: string

  beforeAll(async () => {
    site = await openIssuer(backend, { clock })
    client = await site.client({
      clientId: 'web',
      name: 'The <Web> App',
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [redirectUri],
      scopes: ['profile', 'email', 'offline_access'],
    })
    aliceId = await addPerson(site, 'alice')
    await addPerson(site, 'bob')
  }, 60_000)
  afterAll(() => site.close())

  const idTokenOf = async (code: string): Promise<string> =>
    (await exchange(site, client, code)).body.id_token

  it('leads through the sign-in form to a code, and from the code to tokens about the user', async () => {
    const page = await newPerson(site).signIn(authorizeUrl(site, client, { nonce: 'n-1' }))
    expect(page.status).toBe(303)
    expect(page.away?.startsWith(`${redirectUri}?code=`)).toBe(true)
    const { code, ...others } = answerOf(page)
    expect(others).toEqual({ state: 'a state', iss: site.issuer })
    const { status, body } = await exchange(site, client, String(code))
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'openid' })
    expect(body.refresh_token).toMatch(/^[\w-]{86}$/)
    const claims = claimsOf(body.id_token)
    expect(claims).toMatchObject({
      iss: site.issuer,
      sub: aliceId,
      aud: 'web',
      nonce: 'n-1',
      acr: '1',
      amr: ['pwd'],
      auth_time: Math.floor(now / 1000),
    })
    expect(claims['at_hash']).toMatch(/^[\w-]{22}$/)
    expect(claimsOf(body.access_token)).toMatchObject({ sub: aliceId, sid: claims['sid'] })
    const rows = await site.server.areas.storage.db
      .selectFrom('session_clients')
      .selectAll()
      .where('sid', '=', String(claims['sid']))
      .execute()
    expect(rows).toMatchObject([{ client_id: client.id, realm: 'acme' }])
  })

  it('uses the session again, without a form', async () => {
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    expect(codeOf(await alice.open(authorizeUrl(site, client)))).toMatch(/^[\w-]{86}$/)
  })

  it('takes the request as a form from another site, whose cookies do not come along', async () => {
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    const form = new URL(authorizeUrl(site, client)).search.slice(1)
    const crossSite = await fetch(`${site.issuer}/authorize`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams(form),
    })
    expect(crossSite.status).toBe(303)
    const next = crossSite.headers.get('location') ?? ''
    expect(next).toMatch(/^\/realms\/acme\/authorize\/[\w-]{43}$/)
    const page = await alice.open(`${site.server.baseUrl}${next}`)
    expect(answerOf(page)).toMatchObject({ state: 'a state', code: expect.any(String) })
    expect((await alice.open(`${site.server.baseUrl}${next}`)).status).toBe(403)
  })

  it('hands the state back byte for byte, whatever is in it', async () => {
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    for (const state of ['a b&c=d#e', '<script>"\'', 'ü€🔑', '%00%2e', 'x'.repeat(4096)]) {
      const page = await alice.open(authorizeUrl(site, client, { state }))
      expect(answerOf(page)['state']).toBe(state)
    }
    const page = await alice.open(authorizeUrl(site, client, { state: undefined }))
    expect(Object.keys(answerOf(page)).sort()).toEqual(['code', 'iss'])
  })

  it('refuses a state of more than 4096 characters, and stores none', async () => {
    const state = 'x'.repeat(4097)
    const answer = answerOf(await newPerson(site).open(authorizeUrl(site, client, { state })))
    expect(answer).toMatchObject({ error: 'invalid_request', state })
    expect(answer['error_description']).toMatch(/the state is longer than 4096 characters/)
    const form = new URL(authorizeUrl(site, client, { state })).search.slice(1)
    const { headers } = await site.post('/authorize', form)
    expect(headers.get('location')).toContain(`${redirectUri}?error=invalid_request`)
  })

  it('fills the form with login_hint, as text', async () => {
    const hint = '"><script>alert(1)</script>'
    const page = await newPerson(site).open(authorizeUrl(site, client, { login_hint: hint }))
    expect(page.body).toContain('value="&quot;&gt;&lt;script&gt;')
    expect(page.body).not.toContain('<script>')
  })

  it('keeps the request through a wrong password', async () => {
    const alice = newPerson(site)
    const form = await alice.open(authorizeUrl(site, client))
    const again = await alice.submit(form, { username: 'alice', password: 'wrong' })
    expect(again.status).toBe(401)
    expect(codeOf(await alice.submit(again, { username: 'alice', password }))).toBeTruthy()
  })

  describe('prompt and max_age', () => {
    it('answers login_required where prompt=none finds nobody signed in', async () => {
      const page = await newPerson(site).open(authorizeUrl(site, client, { prompt: 'none' }))
      expect(answerOf(page)).toMatchObject({ error: 'login_required', state: 'a state' })
    })

    it('answers a code where prompt=none finds somebody', async () => {
      const alice = newPerson(site)
      await alice.signIn(authorizeUrl(site, client))
      codeOf(await alice.open(authorizeUrl(site, client, { prompt: 'none' })))
    })

    it.each(['none login', 'none consent', 'login none', 'none select_account', 'create', 'None'])(
      'refuses prompt=%s',
      async (prompt) => {
        const page = await newPerson(site).open(authorizeUrl(site, client, { prompt }))
        expect(answerOf(page)).toMatchObject({ error: 'invalid_request', iss: site.issuer })
      },
    )

    it.each([
      ['prompt=login', { prompt: 'login' }],
      ['max_age=0', { max_age: '0' }],
      ['max_age=60 after two minutes', { max_age: '60' }],
    ])('asks for the password again with %s, and says when it was given', async (_name, asked) => {
      const alice = newPerson(site)
      const before = claimsOf(
        await idTokenOf(codeOf(await alice.signIn(authorizeUrl(site, client)))),
      )
      now += 120_000
      const form = await alice.open(authorizeUrl(site, client, asked))
      expect(form.body).toContain('name="password"')
      const page = await alice.submit(form, { username: 'alice', password })
      const after = claimsOf(await idTokenOf(codeOf(page)))
      expect(after['auth_time']).toBe(Math.floor(now / 1000))
      expect(before['auth_time']).toBe(Math.floor(now / 1000) - 120)
      // The session goes on: what it gave to others stays.
      expect(after['sid']).toBe(before['sid'])
      const silent = { ...asked, prompt: 'none' }
      if (!('prompt' in asked)) {
        now += 120_000
        const refused = await alice.open(authorizeUrl(site, client, silent))
        expect(answerOf(refused)['error']).toBe('login_required')
      }
    })

    it('does not take a session that was there before for a new sign-in', async () => {
      const alice = newPerson(site)
      await alice.signIn(authorizeUrl(site, client))
      const form = await alice.open(authorizeUrl(site, client, { prompt: 'login' }))
      const handle = new URL(form.url).searchParams.get('authorization')
      const page = await alice.open(`${site.issuer}/authorize/${handle}`)
      expect(page.body).toContain('name="password"')
      expect(page.away).toBeUndefined()
    })

    it('does not take a sign-in for something else that is older than max_age by now', async () => {
      const alice = newPerson(site)
      const form = await alice.open(authorizeUrl(site, client, { max_age: '2' }))
      await alice.signIn(authorizeUrl(site, client))
      now += 10_000
      const handle = new URL(form.url).searchParams.get('authorization')
      const again = await alice.open(`${site.issuer}/authorize/${handle}`)
      expect(again.body).toContain('name="password"')
      const page = await alice.submit(again, { username: 'alice', password })
      const { auth_time } = claimsOf(await idTokenOf(codeOf(page)))
      expect(auth_time).toBe(Math.floor(now / 1000))
    })

    it.each(['0', '1'])('allows for the way back from the sign-in with max_age=%s', async (age) => {
      const alice = newPerson(site)
      const form = await alice.open(authorizeUrl(site, client, { max_age: age }))
      await alice.signIn(authorizeUrl(site, client))
      now += 3000
      const handle = new URL(form.url).searchParams.get('authorization')
      codeOf(await alice.open(`${site.issuer}/authorize/${handle}`))
    })

    it('allows for reading what is to be allowed, and not for leaving it open', async () => {
      const url = authorizeUrl(site, client, { max_age: '0', prompt: 'consent' })
      const alice = newPerson(site)
      const page = await alice.signIn(url)
      now += 60_000
      codeOf(await alice.submit(page, { decision: 'allow' }))
      const bob = newPerson(site)
      const open = await bob.signIn(url, 'bob')
      now += 600_000
      const late = await bob.submit(open, { decision: 'allow' })
      expect(late.body).toContain('name="password"')
    })

    it('lets the user choose the account with prompt=select_account', async () => {
      const alice = newPerson(site)
      await alice.signIn(authorizeUrl(site, client))
      const url = authorizeUrl(site, client, { prompt: 'select_account' })
      const choice = await alice.open(url)
      expect(choice.body).toContain('Continue as alice')
      const same = await alice.submit(choice, { decision: 'continue' })
      expect(claimsOf(await idTokenOf(codeOf(same)))['sub']).toBe(aliceId)
      const form = await alice.submit(await alice.open(url), { decision: 'other' })
      const other = await alice.submit(form, { username: 'bob', password })
      expect(claimsOf(await idTokenOf(codeOf(other)))['sub']).not.toBe(aliceId)
      const none = await alice.open(authorizeUrl(site, client, { prompt: 'none' }))
      expect(answerOf(none)['code']).toBeTruthy()
    })
  })

  describe('who is expected', () => {
    it('is the user of id_token_hint, and nobody else', async () => {
      const alice = newPerson(site)
      const hint = await idTokenOf(codeOf(await alice.signIn(authorizeUrl(site, client))))
      const asked = { prompt: 'none', id_token_hint: hint }
      codeOf(await alice.open(authorizeUrl(site, client, asked)))
      const bob = newPerson(site)
      await bob.signIn(authorizeUrl(site, client), 'bob')
      expect(answerOf(await bob.open(authorizeUrl(site, client, asked)))['error']).toBe(
        'login_required',
      )
      const form = await bob.open(authorizeUrl(site, client, { id_token_hint: hint }))
      const still = await bob.submit(form, { username: 'bob', password })
      expect(answerOf(still)['error']).toBe('login_required')
    })

    it('is not told by an access token, a token for another client, a forged one, or userinfo', async () => {
      const alice = newPerson(site)
      const code = codeOf(await alice.signIn(authorizeUrl(site, client)))
      const { body } = await exchange(site, client, code)
      const [head, payload] = String(body.id_token).split('.')
      const other = await site.client({
        clientId: 'hinted',
        grantTypes: ['authorization_code'],
        redirectUris: [redirectUri],
        userinfoSignedResponseAlg: 'PS256',
      })
      const theirs = await exchange(
        site,
        other,
        codeOf(await alice.open(authorizeUrl(site, other))),
      )
      const authorization = `Bearer ${theirs.body.access_token}`
      const told = (await site.get('/userinfo', { authorization })).body
      expect(claimsOf(told)).toMatchObject({ aud: 'hinted', sub: aliceId })
      const hints: [TestClient, string][] = [
        [client, body.access_token],
        [client, `${head}.${payload}.AAAA`],
        [client, 'x'],
        [other, body.id_token],
        [other, told],
      ]
      for (const [asking, hint] of hints) {
        const page = await alice.open(authorizeUrl(site, asking, { id_token_hint: hint }))
        expect(answerOf(page)['error']).toBe('invalid_request')
      }
    })

    it('is told by a value of sub in the claims parameter, or by the one of its values (OIDC Core §5.5.1)', async () => {
      const bob = newPerson(site)
      await bob.signIn(authorizeUrl(site, client), 'bob')
      const errorFor = async (sub: object) => {
        const claims = JSON.stringify({ id_token: { sub } })
        const page = await bob.open(authorizeUrl(site, client, { claims, prompt: 'none' }))
        return answerOf(page)['error']
      }
      expect(await errorFor({ value: aliceId })).toBe('login_required')
      expect(await errorFor({ values: [aliceId] })).toBe('login_required')
      expect(await errorFor({ essential: true, value: null })).toBeUndefined()
      expect(await errorFor({ value: 5 })).toBe('invalid_request')
      expect(await errorFor({ value: aliceId, values: ['another'] })).toBe('invalid_request')
    })

    it('is one user: values that contradict each other are refused (OIDC Core §3.1.2.2)', async () => {
      const alice = newPerson(site)
      const id_token_hint = await idTokenOf(codeOf(await alice.signIn(authorizeUrl(site, client))))
      const sub = (value: string) => ({ sub: { value } })
      const contradictions = [
        { id_token_hint, claims: JSON.stringify({ id_token: sub('another') }) },
        { id_token_hint, claims: JSON.stringify({ userinfo: sub('another') }) },
        { claims: JSON.stringify({ id_token: sub('another'), userinfo: sub(aliceId) }) },
        { claims: JSON.stringify({ id_token: sub(aliceId), userinfo: sub('another') }) },
      ]
      for (const asked of contradictions) {
        const page = await alice.open(authorizeUrl(site, client, { ...asked, prompt: 'none' }))
        expect(answerOf(page)['error']).toBe('invalid_request')
      }
      const claims = JSON.stringify({ id_token: sub(aliceId), userinfo: sub(aliceId) })
      const agreeing = { id_token_hint, claims, prompt: 'none' }
      codeOf(await alice.open(authorizeUrl(site, client, agreeing)))
    })
  })

  describe('a user whom the client has no subject for', () => {
    let byEmail: TestClient
    beforeAll(async () => {
      byEmail = await site.client({
        clientId: 'by-email',
        grantTypes: ['authorization_code'],
        redirectUris: [redirectUri],
        subjectClaim: 'email',
      })
      const id = await addPerson(site, 'nomail')
      await change(site, `/users/${id}`, { email: null })
    })

    it('gets no code, and is not asked to allow anything', async () => {
      const person = newPerson(site)
      const page = await person.signIn(authorizeUrl(site, byEmail, { prompt: 'consent' }), 'nomail')
      expect(answerOf(page)).toMatchObject({ error: 'access_denied', state: 'a state' })
      const silent = await person.open(authorizeUrl(site, byEmail, { prompt: 'none' }))
      expect(answerOf(silent)).toMatchObject({ error: 'access_denied', iss: site.issuer })
    })

    it('is not the one who is expected', async () => {
      const alice = newPerson(site)
      const code = codeOf(await alice.signIn(authorizeUrl(site, byEmail)))
      const hint = (await exchange(site, byEmail, code)).body.id_token
      const person = newPerson(site)
      await person.signIn(authorizeUrl(site, client), 'nomail')
      const claims = JSON.stringify({ id_token: { sub: { value: 'x' } } })
      for (const asked of [{ claims }, { id_token_hint: hint }]) {
        const silent = authorizeUrl(site, byEmail, { ...asked, prompt: 'none' })
        expect(answerOf(await person.open(silent))['error']).toBe('login_required')
        const form = await person.open(authorizeUrl(site, byEmail, asked))
        expect(form.body).toContain('name="password"')
      }
    })
  })

  it('puts claims that are asked for one by one into the id token', async () => {
    const claims = JSON.stringify({ id_token: { email: { essential: true }, nickname: null } })
    const page = await newPerson(site).signIn(authorizeUrl(site, client, { claims }))
    expect(claimsOf(await idTokenOf(codeOf(page)))).toMatchObject({ email: 'alice@acme.example' })
  })

  it.each(['[]', '{', '"x"', '{"id_token":[]}', '{"id_token":{"acr":7}}'])(
    'refuses claims=%s',
    async (claims) => {
      const page = await newPerson(site).open(authorizeUrl(site, client, { claims }))
      expect(answerOf(page)['error']).toBe('invalid_request')
    },
  )

  it('refuses a class of authentication that is essential and not offered', async () => {
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    const asked = (acr: object) => ({ claims: JSON.stringify({ id_token: { acr } }) })
    const gold = { essential: true, values: ['gold'] }
    const refused = await alice.open(authorizeUrl(site, client, asked(gold)))
    expect(answerOf(refused)['error']).toBe('unmet_authentication_requirements')
    codeOf(await alice.open(authorizeUrl(site, client, asked({ essential: true, value: '1' }))))
    codeOf(await alice.open(authorizeUrl(site, client, asked({ values: ['gold'] }))))
    codeOf(await alice.open(authorizeUrl(site, client, { acr_values: 'gold silver' })))
    const unknown = await newPerson(site).open(authorizeUrl(site, client, asked(gold)))
    expect(answerOf(unknown)['error']).toBe('unmet_authentication_requirements')
    const number = await alice.open(
      authorizeUrl(site, client, asked({ essential: true, value: 1 })),
    )
    expect(answerOf(number)['error']).toBe('unmet_authentication_requirements')
  })

  it('answers in silence with any of the classes that are wished for', async () => {
    const alice = newPerson(site)
    await alice.signIn(authorizeUrl(site, client))
    const asked = (acr_values: string) => authorizeUrl(site, client, { acr_values, prompt: 'none' })
    const { acr } = claimsOf(await idTokenOf(codeOf(await alice.open(asked('2 1')))))
    expect(acr).toBe('1')
    expect(answerOf(await alice.open(asked('2')))['error']).toBe('login_required')
  })

  it('goes on with another of the essential classes, where the preferred one is not reached', async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ['2', '1'] } } })
    const page = await newPerson(site).signIn(authorizeUrl(site, client, { claims }))
    expect(claimsOf(await idTokenOf(codeOf(page)))['acr']).toBe('1')
  })

  it('goes on with less than the class that is wished for, where only the claim is essential', async () => {
    const claims = JSON.stringify({ id_token: { acr: { essential: true } } })
    const url = authorizeUrl(site, client, { acr_values: '2', claims })
    const page = await newPerson(site).signIn(url)
    expect(claimsOf(await idTokenOf(codeOf(page)))['acr']).toBe('1')
  })

  it.each([
    ['a scope that the client may not have', { scope: 'openid phone' }, 'invalid_scope'],
    ['a resource that it may not have', { resource: 'https://api.example' }, 'invalid_target'],
    ['no response_type', { response_type: undefined }, 'invalid_request'],
    ['response_type=none', { response_type: 'none' }, 'unsupported_response_type'],
    ['an unknown response_mode', { response_mode: 'web_message' }, 'invalid_request'],
    ['max_age that is no number', { max_age: '-1' }, 'invalid_request'],
    ['a nonce without end', { nonce: 'n'.repeat(513) }, 'invalid_request'],
    ['dpop_jkt that is no thumbprint', { dpop_jkt: 'x' }, 'invalid_request'],
    [
      'a request_uri elsewhere',
      { request_uri: 'https://app.example/r' },
      'request_uri_not_supported',
    ],
    [
      'an unsigned request object',
      { request: 'eyJhbGciOiJub25lIn0.e30.' },
      'invalid_request_object',
    ],
  ])('tells the client of %s', async (_name, asked, error) => {
    const answer = answerOf(await newPerson(site).open(authorizeUrl(site, client, asked)))
    expect(answer).toMatchObject({ error, state: 'a state', iss: site.issuer })
    expect(answer['code']).toBeUndefined()
    expect(answer['error_description']).toMatch(/^[ !#-[\]-~]+$/)
  })

  it('refuses a client that may not use codes, and a realm that is not there', async () => {
    const none = await site.client({
      clientId: 'machine',
      grantTypes: ['client_credentials'],
      redirectUris: [redirectUri],
    })
    const page = await newPerson(site).open(authorizeUrl(site, none))
    expect(answerOf(page)['error']).toBe('unauthorized_client')
    const elsewhere = authorizeUrl(site, client).replace('/realms/acme/', '/realms/nowhere/')
    expect((await newPerson(site).open(elsewhere)).status).toBe(404)
  })
})
