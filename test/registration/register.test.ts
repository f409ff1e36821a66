/** Dynamic client registration (RFC 7591) and its management (RFC 7592), over HTTP. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { addPerson, authorizeUrl, codeOf, exchange, newPerson } from '../oidc/relying-party.ts'
import { backends } from '../support/backends.ts'
import { openRegistration, type RegistrationSite, web } from './fixture.ts'

describe.each(backends)('client registration on $name', (backend) => {
  let site: RegistrationSite
  let token: string
  beforeAll(async () => {
    site = await openRegistration(backend)
    token = await site.initialToken()
    await addPerson(site, 'alice')
  })
  afterAll(() => site.close())

  const registered = async (metadata: object = web) => {
    const { status, body } = await site.register(metadata, token)
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body
  }
  const documentOf = async (clientId: string) =>
    (await site.admin('GET', '/clients')).body.find(
      (one: { clientId: string }) => one.clientId === clientId,
    )
  const metadata = async () => (await site.get('/.well-known/openid-configuration')).body

  it('answers the client with its secret, its token and every value that was registered (RFC 7591 §3.2.1)', async () => {
    const { status, headers, body } = await site.register(
      {
        ...web,
        grant_types: ['authorization_code', 'refresh_token'],
        contacts: ['ops@app.example'],
        client_uri: 'https://app.example/',
        policy_uri: 'https://app.example/privacy',
        initiate_login_uri: 'https://app.example/start',
        software_id: 'shop',
        software_version: '2.1',
        scope: 'openid email',
        a_name_of_tomorrow: true,
      },
      token,
    )
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({
      ...web,
      client_secret_expires_at: 0,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
      contacts: ['ops@app.example'],
      client_uri: 'https://app.example/',
      policy_uri: 'https://app.example/privacy',
      initiate_login_uri: 'https://app.example/start',
      software_id: 'shop',
      software_version: '2.1',
      scope: 'openid email',
    })
    expect(body).not.toHaveProperty('a_name_of_tomorrow')
    expect(body.client_secret.length).toBeGreaterThanOrEqual(32)
    expect(body.registration_client_uri).toMatch(
      new RegExp(`^${site.issuer}/connect/register/[0-9a-f-]{36}$`),
    )
    expect(body.client_id_issued_at).toBeGreaterThan(1_700_000_000)
  })

  it('limits the requests of a network: one host may use all addresses of an IPv6 /64', async () => {
    const from = async (remoteAddress: string): Promise<number> => {
      const url = new URL(`${site.issuer}/connect/register`).pathname
      const body = { method: 'POST', url, payload: {}, remoteAddress } as const
      return (await site.server.app.inject(body)).statusCode
    }
    const sent = Array.from({ length: 130 }, (_, n) => from(`2001:db8:1:2::${n.toString(16)}`))
    expect((await Promise.all(sent)).filter((status) => status === 429).length).toBeGreaterThan(0)
    expect(await from('2001:db8:1:3::1')).toBe(401)
  })

  it('makes a client that users sign in to, after they are asked', async () => {
    const { client_id: clientId, client_secret: secret } = await registered()
    const page = await newPerson(site).signIn(authorizeUrl(site, { clientId }))
    expect(page.body).toContain('Web shop')
    const alice = newPerson(site)
    const asked = await alice.signIn(authorizeUrl(site, { clientId }))
    const code = codeOf(await alice.submit(asked, { decision: 'allow' }))
    const { status, body } = await exchange(site, { id: '', clientId, secret }, code)
    expect([status, claimsOf(body.id_token)['aud']]).toEqual([200, clientId])
  })

  it('makes a public client without a secret for token_endpoint_auth_method none', async () => {
    const body = await registered({ ...web, token_endpoint_auth_method: 'none' })
    expect(body).not.toHaveProperty('client_secret')
    expect(await documentOf(body.client_id)).toMatchObject({
      publicClient: true,
      selfRegistered: true,
      consentRequired: true,
      fullScopeAllowed: false,
      webOrigins: ['https://app.example'],
    })
  })

  it('reads, replaces and deletes the client with its registration access token (RFC 7592)', async () => {
    const login = { initiate_login_uri: 'https://app.example/start' }
    const first = await registered({ ...web, ...login, contacts: ['a@app.example'] })
    const url = first.registration_client_uri
    const read = await site.manage('GET', url, first.registration_access_token)
    expect([read.status, read.body.client_name]).toEqual([200, 'Web shop'])
    expect(read.body).toMatchObject(login)
    expect(read.body.registration_access_token).toBe(first.registration_access_token)
    expect(read.body).not.toHaveProperty('client_secret')

    const replaced = await site.manage('PUT', url, first.registration_access_token, {
      client_id: first.client_id,
      client_secret: first.client_secret,
      redirect_uris: ['https://app.example/other'],
      initiate_login_uri: 'https://app.example/begin',
    })
    expect(replaced.status).toBe(200)
    expect(replaced.body).toMatchObject({
      client_id: first.client_id,
      initiate_login_uri: 'https://app.example/begin',
      redirect_uris: ['https://app.example/other'],
    })
    // What is left out is no longer registered (RFC 7592 §2.2).
    expect(replaced.body).not.toHaveProperty('client_name')
    expect(replaced.body).not.toHaveProperty('contacts')

    const next = replaced.body.registration_access_token
    expect(next).not.toBe(first.registration_access_token)
    const stale = await site.manage('GET', url, first.registration_access_token)
    expect([stale.status, stale.body.error]).toEqual([401, 'invalid_token'])
    expect(stale.headers.get('www-authenticate')).toMatch(/^Bearer realm="acme"/)

    expect((await site.manage('DELETE', url, next)).status).toBe(204)
    expect((await site.manage('GET', url, next)).status).toBe(401)
    expect(await documentOf(first.client_id)).toBeUndefined()
    const refused = await site.post('/token', {
      grant_type: 'authorization_code',
      client_id: first.client_id,
      client_secret: first.client_secret,
      code: 'x',
    })
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client'])
  })

  it('of two updates with one token one succeeds', async () => {
    const {
      client_id,
      registration_client_uri: url,
      registration_access_token,
    } = await registered()
    const answers = await Promise.all(
      ['one', 'two', 'three', 'four'].map((client_name) =>
        site.manage('PUT', url, registration_access_token, { ...web, client_id, client_name }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 401, 401, 401])
  })

  it('of many deletions one succeeds: for the others the client does not exist (RFC 7592 §2.3)', async () => {
    const { registration_client_uri: url, registration_access_token: own } = await registered()
    const sent = Array.from({ length: 5 }, () => site.manage('DELETE', url, own))
    const statuses = (await Promise.all(sent)).map(({ status }) => status).sort()
    expect(statuses).toEqual([204, 401, 401, 401, 401])
  })

  it('an update at the same moment as a deletion succeeds before it, or is refused as after it (RFC 7592 §2.2)', async () => {
    const { client_id, ...body } = await registered()
    const { registration_client_uri: url, registration_access_token: own } = body
    const sent = ['PUT', 'DELETE', 'PUT', 'DELETE'].map((method) =>
      site.manage(method, url, own, method === 'PUT' ? { ...web, client_id } : undefined),
    )
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses.filter((status) => ![200, 204, 401].includes(status))).toEqual([])
  })

  it('refuses an update for another client_id, or with a secret that is not its own (RFC 7592 §2.2)', async () => {
    const {
      registration_client_uri: url,
      registration_access_token: own,
      client_id,
    } = await registered()
    const other = await registered()
    const wrong = [
      { ...web },
      { ...web, client_id: other.client_id },
      { ...web, client_id, client_secret: 'x'.repeat(43) },
    ]
    for (const body of wrong) {
      const answer = await site.manage('PUT', url, own, body)
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_client_metadata'])
    }
    const foreign = await site.manage('GET', url, other.registration_access_token)
    expect(foreign.status).toBe(401)
    expect((await site.manage('GET', url, own)).status).toBe(200)
  })

  it('refuses an update with what the server issued, and changes nothing (RFC 7592 §2.2)', async () => {
    const first = await registered()
    const { registration_client_uri: url, registration_access_token: own, client_id } = first
    for (const name of [
      'registration_access_token',
      'registration_client_uri',
      'client_secret_expires_at',
      'client_id_issued_at',
    ]) {
      const body = { ...web, client_id, client_name: 'Changed', [name]: first[name] }
      const answer = await site.manage('PUT', url, own, body)
      expect([name, answer.status, answer.body.error]).toEqual([
        name,
        400,
        'invalid_client_metadata',
      ])
      expect(answer.body.error_description).toContain(name)
    }
    expect((await site.manage('GET', url, own)).body.client_name).toBe('Web shop')
  })

  it('answers a secret once: a read and an update have client_secret_expires_at without it', async () => {
    const first = await registered()
    const { registration_client_uri: url, client_id, client_secret } = first
    const read = await site.manage('GET', url, first.registration_access_token)
    const changed = await site.manage('PUT', url, first.registration_access_token, {
      ...web,
      client_id,
      client_secret,
    })
    for (const { status, body } of [read, changed]) {
      expect(status).toBe(200)
      expect(body).toMatchObject({ client_id, client_secret_expires_at: 0 })
      expect(JSON.stringify(body)).not.toContain(client_secret)
    }
    // The secret is the same as before: a read never makes another one.
    const { status } = await site.post('/token', {
      grant_type: 'authorization_code',
      client_id,
      client_secret,
      code: 'x',
      redirect_uri: web.redirect_uris[0] ?? '',
    })
    expect(status).toBe(400)
  })

  it('lets no answer be stored, of success or refusal (RFC 7591 §3.2.1)', async () => {
    const first = await registered()
    const { registration_client_uri: url, registration_access_token: own, client_id } = first
    const answers = [
      await site.register(web),
      await site.register({}, token),
      await site.manage('GET', url, 'wrong'),
      await site.manage('GET', url, own),
      await site.manage('PUT', url, own, { client_id }),
      await site.manage('DELETE', url, own),
      await site.manage('GET', url, own),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 400, 401, 200, 400, 204, 401])
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('no-store')
    // A request without a token is told no error (RFC 6750 §3.1).
    const [anonymous, , wrong] = answers
    expect(anonymous?.headers.get('www-authenticate')).toBe('Bearer realm="acme"')
    expect(wrong?.headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  it('refuses the registration access token of a client that is disabled, which stays disabled (CVE-2026-9705)', async () => {
    const body = await registered()
    const { registration_client_uri: url, registration_access_token: own, client_id } = body
    const document = await documentOf(client_id)
    await site.admin('PUT', `/clients/${document.id}`, { ...document, enabled: false })
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const sent = method === 'PUT' ? { ...web, client_id, enabled: true } : undefined
      expect((await site.manage(method, url, own, sent)).status).toBe(401)
    }
    expect((await documentOf(client_id)).enabled).toBe(false)
  })

  it('records who registered, changed and deleted a client', async () => {
    const body = await registered()
    const id = body.registration_client_uri.split('/').at(-1)
    const url = body.registration_client_uri
    const changed = await site.manage('PUT', url, body.registration_access_token, {
      ...web,
      client_id: body.client_id,
      client_name: 'Another name',
    })
    await site.manage('DELETE', url, changed.body.registration_access_token)
    for (const type of ['CLIENT_REGISTER', 'CLIENT_UPDATE', 'CLIENT_DELETE']) {
      const events = (await site.admin('GET', `/events?type=${type}`)).body.items
      const own = events.filter((one: { resourceId: string }) => one.resourceId === id)
      expect(own).toHaveLength(1)
      expect(own[0]).toMatchObject({ outcome: 'SUCCESS', resourceType: 'clients' })
    }
  })

  it('is in an export where it is asked for, and in no other', async () => {
    const { client_id } = await registered()
    const clientsIn = async (query: string): Promise<readonly string[]> =>
      ((await site.admin('GET', `/export${query}`)).body.clients ?? []).map(
        ({ clientId }: { clientId: string }) => clientId,
      )
    expect(await clientsIn('')).not.toContain(client_id)
    expect(await clientsIn('?runtime=true')).toContain(client_id)
  })

  it('answers 404 and is not in the metadata while the realm does not offer it', async () => {
    const { registration_client_uri: url, registration_access_token: own } = await registered()
    expect((await metadata()).registration_endpoint).toBe(`${site.issuer}/connect/register`)
    await site.allow({ dcrEnabled: false })
    expect(await metadata()).not.toHaveProperty('registration_endpoint')
    expect((await site.admin('GET', '/endpoints')).body).not.toHaveProperty('registration')
    expect((await site.register(web, token)).status).toBe(404)
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await site.manage(method, url, own, method === 'PUT' ? web : undefined)).status).toBe(
        404,
      )
    await site.allow({ dcrEnabled: true })
    expect((await site.manage('GET', url, own)).status).toBe(200)
  })

  it('takes no registration without a token, with a wrong one, or with one of another realm or purpose', async () => {
    await site.server.createRealm('other')
    const send = site.server.admin.send
    const path = '/admin/realms/other/provisioning/initial-access-tokens'
    const foreign = (await send('POST', path, { count: 5 })).body.token
    const scim = (await site.admin('POST', '/provisioning/scim-tokens', {})).body.token
    for (const wrong of [undefined, 'nonsense', foreign, scim]) {
      const { status, body, headers } = await site.register(web, wrong)
      expect([status, body.error]).toEqual([401, 'invalid_token'])
      expect(headers.get('www-authenticate')).toContain('Bearer')
    }
  })

  it('of many registrations with a token for two exactly two succeed', async () => {
    const two = await site.initialToken({ count: 2 })
    const answers = await Promise.all(Array.from({ length: 8 }, () => site.register(web, two)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(6)
  })

  it('refuses what is no client metadata', async () => {
    for (const [body, error] of [
      ['a text', 'invalid_client_metadata'],
      [[], 'invalid_client_metadata'],
      [{ client_name: 'x' }, 'invalid_redirect_uri'],
      [{ redirect_uris: 'https://app.example/' }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['not a uri'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['https://app.example/#x'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['http://app.example/'] }, 'invalid_redirect_uri'],
      [{ redirect_uris: ['javascript:alert(1)//'] }, 'invalid_redirect_uri'],
      [{ ...web, client_name: 5 }, 'invalid_client_metadata'],
      [{ ...web, token_endpoint_auth_method: 'tls_client_auth' }, 'invalid_client_metadata'],
      [{ ...web, token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
      [{ ...web, response_types: ['token'] }, 'invalid_client_metadata'],
      [{ ...web, id_token_signed_response_alg: 'none' }, 'invalid_client_metadata'],
      [{ ...web, subject_type: 'secret' }, 'invalid_client_metadata'],
      [{ ...web, initiate_login_uri: 'http://app.example/start' }, 'invalid_client_metadata'],
      [{ ...web, initiate_login_uri: 'start' }, 'invalid_client_metadata'],
      [{ ...web, jwks: { keys: [{ kty: 'oct', k: 'eA' }] } }, 'invalid_client_metadata'],
      [{ ...web, software_statement: 'x' }, 'invalid_software_statement'],
    ] as const) {
      const answer = await site.register(body, token)
      expect([body, answer.status, answer.body.error]).toEqual([body, 400, error])
      expect(answer.body.error_description).toBeTypeOf('string')
    }
  })

  it('refuses a software statement of an issuer that the realm does not trust', async () => {
    const statement = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"iss":"https://vendor.example"}').toString('base64url')}.`
    const { status, body } = await site.register({ ...web, software_statement: statement }, token)
    expect([status, body.error]).toEqual([400, 'unapproved_software_statement'])
  })

  it('lets pages of other origins register, without credentials', async () => {
    const response = await fetch(`${site.issuer}/connect/register`, {
      method: 'OPTIONS',
      headers: { origin: 'https://inspector.example', 'access-control-request-method': 'POST' },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  })
})
