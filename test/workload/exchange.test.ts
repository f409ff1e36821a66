/** The exchange of the JWT of a workload for an access token, by the rules of `POST /workload-identity/token`. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../oidc/fixture.ts'
import { anyBackend } from '../support/backends.ts'
import { audience, type Changes, openWorkloadSite, subject, type WorkloadSite } from './fixture.ts'
import { type Algorithm, makeKey } from './platform.ts'

describe.each(anyBackend)('workload token exchange on $name', (backend) => {
  let world: WorkloadSite

  beforeAll(async () => {
    world = await openWorkloadSite(backend)
  })
  afterAll(() => world.close())

  it('gives an access token of the client, which names issuer and subject of the workload', async () => {
    const answer = await world.exchange(await world.jwt())
    expect(answer.status, answer.text).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'email profile',
    })
    const claims = claimsOf(answer.body.access_token)
    expect(claims).toMatchObject({
      iss: world.site.issuer,
      sub: world.client.id,
      client_id: 'deployer',
      scope: 'email profile',
      wif_iss: world.platform.issuer,
      wif_sub: subject,
    })
    expect(Number(claims['exp']) - Number(claims['iat'])).toBe(300)
  })

  it('is active at introspection, by the keys of the realm', async () => {
    const { body } = await world.exchange(await world.jwt())
    const { body: told } = await world.site.post('/introspect', {
      token: body.access_token,
      client_id: 'deployer',
      client_secret: world.client.secret,
    })
    expect(told).toMatchObject({ active: true, client_id: 'deployer', wif_sub: subject })
  })

  it('is audited with issuer and subject, as the client', async () => {
    await world.exchange(await world.jwt())
    const [event] = await world.site.events('WORKLOAD_TOKEN')
    expect(event).toMatchObject({
      outcome: 'SUCCESS',
      actor: world.client.id,
      resourceType: 'workload-identity',
      resourceId: world.credential,
    })
    expect(event?.detail).toContain(`issuer "${world.platform.issuer}"`)
    expect(event?.detail).toContain(`subject "${subject}"`)
  })

  it('a refusal is audited with issuer, subject and reason, which the answer does not tell', async () => {
    const answer = await world.exchange(await world.jwt({ sub: 'repo:evil/shop' }))
    expect(answer.status).toBe(401)
    expect(answer.text).toBe('{"error":"invalid_client"}')
    const [event] = await world.site.events('WORKLOAD_TOKEN')
    expect(event).toMatchObject({ outcome: 'FAILURE', actor: 'anonymous' })
    expect(event?.detail).toBe(
      `no credential has this issuer, subject and audience; issuer "${world.platform.issuer}"; subject "repo:evil/shop"`,
    )
  })

  it('a refusal has the subject as actor only where a key of the issuer verified it', async () => {
    const [head, body] = (await world.jwt()).split('.')
    const [, , otherSignature] = (await world.jwt({ iat: 1 })).split('.')
    const forged = await world.exchange([head, body, otherSignature].join('.'))
    expect(forged.status).toBe(401)
    const actorOf = async () => (await world.site.events('WORKLOAD_TOKEN'))[0]?.actor
    expect(await actorOf()).toBe('anonymous')
    const late = await world.exchange(await world.jwt(), { scope: 'not-granted' })
    expect(late.status).toBe(401)
    expect(await actorOf()).toBe(subject)
  })

  it.each<Algorithm>(['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'])(
    'accepts %s',
    async (alg) => {
      const { platform } = world
      platform.keys = [await makeKey(alg)]
      world.clock.advance(11)
      const answer = await world.exchange(await world.jwt())
      expect(answer.status, answer.text).toBe(200)
    },
  )

  it('an audience list of one is an audience (RFC 7519 §4.1.3)', async () => {
    expect((await world.exchange(await world.jwt({ aud: [audience] }))).status).toBe(200)
  })

  it('a request may ask for fewer scopes, not for others', async () => {
    const jwt = await world.jwt()
    expect((await world.exchange(jwt, { scope: 'email' })).body.scope).toBe('email')
    expect((await world.exchange(jwt, { scope: 'email openid' })).status).toBe(401)
  })

  it('clocks may differ by a minute', async () => {
    const now = Math.floor(world.clock.now() / 1000)
    const cases = {
      'expired 50 s ago': [{ exp: now - 50, iat: now - 300, nbf: now - 300 }, 200],
      'expired 61 s ago': [{ exp: now - 61, iat: now - 300, nbf: now - 300 }, 401],
      'issued in 50 s': [{ iat: now + 50, nbf: now + 50 }, 200],
      'issued in 75 s': [{ iat: now + 75 }, 401],
      'not before in 75 s': [{ nbf: now + 75 }, 401],
    } as const
    for (const [name, [changes, status]] of Object.entries(cases))
      expect((await world.exchange(await world.jwt(changes))).status, name).toBe(status)
  })

  it('a JWT that lives longer than two hours is refused, unless the credential allows it', async () => {
    const iat = Math.floor(world.clock.now() / 1000)
    const at = async (sub: string, seconds: number) =>
      (await world.exchange(await world.jwt({ sub, iat, exp: iat + seconds }))).status
    expect(await at(subject, 7200)).toBe(200)
    expect(await at(subject, 7201)).toBe(401)
    await world.credentialWith({ name: 'long', subject: 'long', maxTokenLifespan: 86_400 })
    expect(await at('long', 86_400)).toBe(200)
    expect(await at('long', 86_401)).toBe(401)
  })

  it('the lifetime of the tokens is the credential’s, an hour at most', async () => {
    await world.credentialWith({ name: 'brief', subject: 'brief', accessTokenLifespan: 60 })
    const { body } = await world.exchange(await world.jwt({ sub: 'brief' }))
    expect(body.expires_in).toBe(60)
    const { send } = await world.site.server.signedIn('master', 'admin')
    const long = await send('POST', '/admin/realms/acme/workload-identity', {
      name: 'too long',
      issuer: world.platform.issuer,
      subject: 'too long',
      audience,
      clientId: 'deployer',
      accessTokenLifespan: 3601,
    })
    expect(long.body.errors).toMatchObject([{ field: '/accessTokenLifespan' }])
  })

  it('further claims must have exactly the values of the credential', async () => {
    await world.credentialWith({
      name: 'pinned',
      subject: 'pinned',
      claims: { repository_id: '74', ref_protected: 'true' },
    })
    const at = async (changes: Changes) =>
      (await world.exchange(await world.jwt({ sub: 'pinned', ...changes }))).status
    expect(await at({ repository_id: '74', ref_protected: 'true' })).toBe(200)
    expect(await at({ repository_id: 74, ref_protected: true })).toBe(200)
    expect(await at({ repository_id: '74' })).toBe(401)
    expect(await at({ repository_id: '74', ref_protected: 'false' })).toBe(401)
    expect(await at({ repository_id: ['74'], ref_protected: 'true' })).toBe(401)
    expect(await at({ repository_id: '74 ', ref_protected: 'true' })).toBe(401)
  })

  it('no claim is found on the prototype of an object', async () => {
    await world.credentialWith({ name: 'proto', subject: 'proto', claims: { constructor: 'x' } })
    expect((await world.exchange(await world.jwt({ sub: 'proto' }))).status).toBe(401)
  })

  it('credentials of one issuer and subject work side by side with other audiences and clients (keycloak#38146)', async () => {
    const other = await world.site.client({
      clientId: 'other',
      grantTypes: ['client_credentials'],
      serviceAccountsEnabled: true,
    })
    await world.credentialWith({
      name: 'other',
      audience: 'https://other.example',
      clientId: 'other',
      scopes: '',
    })
    const first = await world.exchange(await world.jwt())
    const second = await world.exchange(await world.jwt({ aud: 'https://other.example' }))
    expect(claimsOf(first.body.access_token)['sub']).toBe(world.client.id)
    expect(claimsOf(second.body.access_token)['sub']).toBe(other.id)
    expect(second.body.scope).toBe('')
  })

  it('two credentials for one JWT are refused at the second write, also in one changeset', async () => {
    const { send } = await world.site.server.signedIn('master', 'admin')
    const doc = (name: string) => ({
      name,
      issuer: 'https://twice.example',
      subject: 's',
      audience: 'a',
      clientId: 'deployer',
    })
    const put = (name: string) => ({
      op: 'put',
      kind: 'workload-identity',
      key: name,
      doc: doc(name),
    })
    const { body: realm } = await send('GET', '/admin/realms/acme')
    const both = await send('POST', '/admin/realms/acme/changesets', {
      source: 'test',
      baseRevision: realm.revision,
      operations: [put('one'), put('two')],
    })
    expect(both.status, JSON.stringify(both.body)).toBe(409)
    expect((await send('POST', '/admin/realms/acme/workload-identity', doc('one'))).status).toBe(
      201,
    )
    const second = await send('POST', '/admin/realms/acme/workload-identity', doc('two'))
    expect(second.body).toMatchObject({
      status: 409,
      code: 'conflict',
      errors: [{ field: '/subject', code: 'taken' }],
    })
  })

  it('a realm that does not exist is 404, another method 405', async () => {
    const jwt = await world.jwt()
    expect((await world.exchange(jwt, {}, { realm: 'nowhere' })).status).toBe(404)
    const got = await world.site.get('/workload-identity/token')
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('is among the endpoints of the realm', async () => {
    const { body } = await world.site.admin('GET', '/endpoints')
    expect(body.workloadToken).toBe(`${world.site.issuer}/workload-identity/token`)
  })
})
