/** Client-initiated backchannel authentication (CIBA Core 1.0), poll and ping. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '#server/platform/clock.ts'
import { tidy } from '#server/run/housekeeping.ts'
import { backends } from '../../support/backends.ts'
import { runJobs } from '../../support/jobs.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  change,
  hiddenFields,
  newPerson,
  type Page,
  type Person,
} from '../relying-party.ts'

const grantType = 'urn:openid:params:grant-type:ciba'

interface Told {
  readonly authorization: string | undefined
  readonly body: unknown
}

/** What a client in ping mode listens with; `statuses` are answered one after the other, then 204. */
const listen = async (
  statuses: number[],
): Promise<{ url: string; told: Told[]; server: Server }> => {
  const told: Told[] = []
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray()
    const { authorization } = request.headers
    told.push({ authorization, body: JSON.parse(Buffer.concat(chunks).toString()) })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/told`, told, server }
}

describe.each(backends)('CIBA on $name', (backend) => {
  let now = Date.now()
  const clock: Clock = { now: () => now }
  let site: OidcSite
  let bank: TestClient
  let pinged: TestClient
  let peer: Awaited<ReturnType<typeof listen>>
  let alice: string
  let person: Person

  beforeAll(async () => {
    site = await openIssuer(backend, {
      clock,
      env: { IAMCTL_OUTGOING_ALLOW: '127.0.0.1', IAMCTL_OUTGOING_ALLOW_HTTP: 'true' },
    })
    peer = await listen([503])
    bank = await site.client({
      clientId: 'bank',
      name: 'The Bank',
      grantTypes: ['CIBA', 'refresh_token'],
      scopes: ['profile'],
    })
    pinged = await site.client({
      clientId: 'pinged',
      grantTypes: ['CIBA'],
      backchannelTokenDeliveryMode: 'ping',
      backchannelClientNotificationEndpoint: peer.url,
    })
    alice = await addPerson(site, 'alice')
    await addPerson(site, 'bob')
    person = newPerson(site)
    await person.signIn(`${site.issuer}/login`)
  })
  afterAll(async () => {
    await site.close()
    peer.server.close()
  })

  const as = ({ clientId, secret }: TestClient) => ({ client_id: clientId, client_secret: secret })
  const begin = (more: Record<string, string> = {}, client = bank) =>
    site.post('/backchannel-authentication', {
      ...as(client),
      scope: 'openid profile',
      login_hint: 'alice',
      ...more,
    })
  const ask = (auth_req_id: string, client = bank) =>
    site.post('/token', { ...as(client), grant_type: grantType, auth_req_id })
  const errorOf = async (id: string): Promise<unknown> => (await ask(id)).body.error
  const approvals = () => `${site.issuer}/approvals`
  /** Decides on the request that shows the message. */
  const decide = async (who: Person, message: string, decision: string): Promise<Page> => {
    const page = await who.open(approvals())
    const section = page.body.split('<article').find((text) => text.includes(message)) ?? ''
    return who.open(approvals(), { ...hiddenFields(section), decision })
  }

  it('works with openid-client in poll mode', async () => {
    const config = await openid.discovery(
      new URL(site.issuer),
      bank.clientId,
      undefined,
      openid.ClientSecretPost(bank.secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const started = await openid.initiateBackchannelAuthentication(config, {
      scope: 'openid profile',
      login_hint: 'alice@acme.example',
      binding_message: 'W4SCT',
    })
    expect(started).toMatchObject({ expires_in: 300, interval: 5 })
    // The user signs in on the way, and sees the client and the scopes.
    const elsewhere = newPerson(site)
    const page = await elsewhere.signIn(approvals())
    expect(page.url).toBe(approvals())
    for (const word of ['The Bank', 'W4SCT']) expect(page.body).toContain(word)
    const done = await elsewhere.submit(page, { decision: 'allow' })
    expect(done.body).toContain('Access was allowed.')
    const tokens = await openid.pollBackchannelAuthenticationGrant(config, {
      ...started,
      interval: 0.1,
    })
    expect(tokens.claims()?.sub).toBe(alice)
    expect(tokens.refresh_token).toBeDefined()
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: alice, scope: 'openid profile' })
    expect((await site.events('CODE_TO_TOKEN'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: alice,
      detail: 'CIBA',
    })
    expect((await site.events('GRANT_CONSENT'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: alice,
      detail: 'CIBA: openid profile',
    })
  })

  it('says where it is and how it tells clients', async () => {
    const { body } = await site.get('/.well-known/openid-configuration')
    expect(body).toMatchObject({
      backchannel_authentication_endpoint: `${site.issuer}/backchannel-authentication`,
      backchannel_token_delivery_modes_supported: ['poll', 'ping'],
      backchannel_user_code_parameter_supported: false,
    })
    expect(body.grant_types_supported).toContain(grantType)
  })

  it('tells a client to wait, and longer where it asks too often (§11)', async () => {
    const { auth_req_id } = (await begin({ binding_message: 'wait' })).body
    expect(await errorOf(auth_req_id)).toBe('authorization_pending')
    now += 1000
    expect(await errorOf(auth_req_id)).toBe('slow_down')
    now += 6000
    expect(await errorOf(auth_req_id)).toBe('slow_down')
    now += 15_000
    expect(await errorOf(auth_req_id)).toBe('authorization_pending')
    await decide(person, 'wait', 'deny')
    expect(await errorOf(auth_req_id)).toBe('access_denied')
  })

  it('redeems an approval once, and only for its client', async () => {
    const { auth_req_id } = (await begin({ binding_message: 'once' })).body
    await decide(person, 'once', 'allow')
    expect((await ask(auth_req_id, pinged)).body.error).toBe('invalid_grant')
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(auth_req_id)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    expect(await errorOf(auth_req_id)).toBe('invalid_grant')
  })

  it('expires when the client says so, and within ten minutes', async () => {
    const short = (await begin({ requested_expiry: '30' })).body
    expect(short.expires_in).toBe(30)
    const long = await begin({ requested_expiry: '86400' })
    expect(long.body.expires_in).toBe(600)
    now += 31_000
    await tidy(site.server.areas)
    expect(await errorOf(short.auth_req_id)).toBe('expired_token')
    now += 600_000
    expect((await person.open(approvals())).body).toContain('There are no pending requests.')
  })

  it('asks nobody but the user it is for', async () => {
    const { auth_req_id } = (await begin({ binding_message: 'for alice' })).body
    const page = await person.open(approvals())
    const request = hiddenFields(page.body)['request'] ?? ''
    const bob = newPerson(site)
    const bobs = await bob.signIn(approvals(), 'bob')
    expect(bobs.body).not.toContain('for alice')
    const { body: second } = await begin({ binding_message: 'for bob', login_hint: 'bob' })
    const own = await bob.open(approvals())
    const forced = await bob.submit(own, { request, decision: 'allow' })
    expect(forced.body).toContain('has expired, or was decided already')
    expect(await errorOf(auth_req_id)).toBe('authorization_pending')
    expect(await errorOf(second.auth_req_id)).toBe('authorization_pending')
    await decide(person, 'for alice', 'deny')
    await decide(bob, 'for bob', 'deny')
  })

  it('takes no decision without the token of the form', async () => {
    const { auth_req_id } = (await begin({ binding_message: 'forged' })).body
    const page = await person.open(approvals())
    const fields = { ...hiddenFields(page.body), _csrf: 'x'.repeat(43), decision: 'allow' }
    expect((await person.open(approvals(), fields)).status).toBe(403)
    expect(await errorOf(auth_req_id)).toBe('authorization_pending')
    await decide(person, 'forged', 'deny')
  })

  it('finds the user by an id token of theirs', async () => {
    const first = (await begin({ binding_message: 'first' })).body
    await decide(person, 'first', 'allow')
    const { id_token } = (await ask(first.auth_req_id)).body
    const again = { login_hint: '', id_token_hint: id_token, binding_message: 'again' }
    const { status, body } = await begin(again)
    expect(status).toBe(200)
    await decide(person, 'again', 'allow')
    expect(claimsOf((await ask(body.auth_req_id)).body.access_token)['sub']).toBe(alice)
    const foreign = await begin({ ...again, client_notification_token: 'token' }, pinged)
    expect([foreign.status, foreign.body.error]).toEqual([400, 'invalid_scope'])
    const hint = { ...again, scope: 'openid', client_notification_token: 'token' }
    expect((await begin(hint, pinged)).body.error).toBe('invalid_request')
  })

  it('does not take what userinfo has signed for an id token', async () => {
    const signed = await site.client({
      clientId: 'signed',
      grantTypes: ['CIBA'],
      userinfoSignedResponseAlg: 'PS256',
    })
    const fields = { scope: 'openid', binding_message: 'told' }
    const { auth_req_id } = (await begin(fields, signed)).body
    await decide(person, 'told', 'allow')
    const { access_token } = (await ask(auth_req_id, signed)).body
    const told = await site.get('/userinfo', { authorization: `Bearer ${access_token}` })
    expect(claimsOf(told.body)).toMatchObject({ aud: 'signed', sub: alice })
    const { status, body } = await begin(
      { ...fields, login_hint: '', id_token_hint: told.body },
      signed,
    )
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  it('finds the user by an id token of a session that has ended, whatever names the user to the client', async () => {
    const danaId = await addPerson(site, 'dana')
    await change(site, `/users/${danaId}`, { attributes: { number: ['D-1'] } })
    const { body: subject } = await site.admin('GET', '/subject-claim')
    await site.admin('PUT', '/subject-claim', { ...subject, attribute: 'number' })
    const signedIn = async (): Promise<Person> => {
      const dana = newPerson(site)
      await dana.signIn(`${site.issuer}/login`, 'dana')
      return dana
    }
    for (const [subjectClaim, scope] of [
      ['userId', 'openid'],
      ['username', 'openid'],
      ['email', 'openid'],
      ['pairwise', 'openid offline_access'],
      ['pairwise', 'openid'],
      ['attribute', 'openid'],
    ] as const) {
      const client = await site.client({
        clientId: `hint-${subjectClaim}-${scope.length}`,
        grantTypes: ['CIBA', 'refresh_token'],
        scopes: ['offline_access'],
        subjectClaim,
      })
      const dana = await signedIn()
      const first = { scope, login_hint: 'dana', binding_message: `first ${subjectClaim}` }
      const { auth_req_id } = (await begin(first, client)).body
      await decide(dana, first.binding_message, 'allow')
      const { id_token } = (await ask(auth_req_id, client)).body
      await dana.submit(await dana.open(`${site.issuer}/logout`), {})
      const binding_message = `again ${subjectClaim}`
      const again = { scope, login_hint: '', id_token_hint: id_token, binding_message }
      const { status, body } = await begin(again, client)
      expect([subjectClaim, status, body.error]).toEqual([subjectClaim, 200, undefined])
      await decide(await signedIn(), binding_message, 'allow')
      const { access_token } = (await ask(body.auth_req_id, client)).body
      expect(claimsOf(access_token)['sub']).toBe(claimsOf(id_token)['sub'])
    }
    // The address is of nobody now, and then of another user, who is not the one of the token.
    const client = await site.client({
      clientId: 'hint-moved',
      grantTypes: ['CIBA'],
      subjectClaim: 'email',
    })
    const dana = await signedIn()
    const first = { scope: 'openid', login_hint: 'dana', binding_message: 'moved' }
    const { auth_req_id } = (await begin(first, client)).body
    await decide(dana, 'moved', 'allow')
    const { id_token } = (await ask(auth_req_id, client)).body
    await change(site, `/users/${danaId}`, { email: 'dana@new.example' })
    const hint = { scope: 'openid', login_hint: '', id_token_hint: id_token }
    expect((await begin(hint, client)).body.error).toBe('unknown_user_id')
  })

  it.each([
    ['Hindi', 'नमस्ते'],
    ['Thai', 'ยืนยัน'],
    ['Persian', 'می\u200cخواهم'],
    ['decomposed Latin', 'e\u0301'],
    ['an emoji of several characters', '\u2764\ufe0f'],
  ])('takes a binding message in %s (§7.1)', async (_script, binding_message) => {
    expect((await begin({ binding_message })).status).toBe(200)
    await decide(person, binding_message, 'deny')
  })

  it('asks no user whom the client has no subject for, which no approval could help', async () => {
    const byEmail = await site.client({
      clientId: 'by-email',
      grantTypes: ['CIBA'],
      subjectClaim: 'email',
    })
    const carlId = await addPerson(site, 'carl')
    const carl = newPerson(site)
    await carl.signIn(`${site.issuer}/login`, 'carl')
    const fields = { scope: 'openid', login_hint: 'carl', binding_message: 'by email' }
    const { auth_req_id } = (await begin(fields, byEmail)).body
    await decide(carl, 'by email', 'allow')
    const { id_token } = (await ask(auth_req_id, byEmail)).body
    expect(claimsOf(id_token)['sub']).toBe('carl@acme.example')
    await change(site, `/users/${carlId}`, { email: null })
    for (const hint of [{}, { login_hint: '', id_token_hint: id_token }]) {
      const { status, body } = await begin({ ...fields, ...hint }, byEmail)
      expect([status, body.error]).toEqual([400, 'unknown_user_id'])
    }
  })

  it.each([
    ['a user who does not exist', { login_hint: 'nobody' }, 'unknown_user_id'],
    ['no hint', { login_hint: '' }, 'invalid_request'],
    ['two hints', { id_token_hint: 'x.y.z' }, 'invalid_request'],
    ['a login_hint_token', { login_hint: '', login_hint_token: 'x' }, 'invalid_request'],
    ['an id token that is none', { login_hint: '', id_token_hint: 'x.y.z' }, 'invalid_request'],
    ['no openid', { scope: 'profile' }, 'invalid_scope'],
    ['a scope it may not have', { scope: 'openid email' }, 'invalid_scope'],
    ['no scope', { scope: '' }, 'invalid_request'],
    ['a long message', { binding_message: 'x'.repeat(65) }, 'invalid_binding_message'],
    ['a message of two lines', { binding_message: 'a\nb' }, 'invalid_binding_message'],
    ['a message that turns around', { binding_message: 'a\u202eb' }, 'invalid_binding_message'],
    ['an odd expiry', { requested_expiry: 'soon' }, 'invalid_request'],
    ['a negative expiry', { requested_expiry: '-5' }, 'invalid_request'],
    ['a signed request', { request: 'x.y.z' }, 'invalid_request'],
    ['a user code', { user_code: '1234' }, 'invalid_request'],
  ])('refuses %s', async (_title, more: Record<string, string>, error) => {
    const { status, body } = await begin(more)
    expect([status, body.error]).toEqual([400, error])
  })

  it('wants a client that authenticates and lists it', async () => {
    await site.client({
      clientId: 'page',
      publicClient: true,
      tokenEndpointAuthMethod: 'none',
      grantTypes: ['CIBA'],
    })
    const fields = { client_id: 'page', scope: 'openid', login_hint: 'alice' }
    const page = await site.post('/backchannel-authentication', fields)
    expect([page.status, page.body.error]).toEqual([400, 'unauthorized_client'])
    const other = await site.client({ clientId: 'other', grantTypes: ['client_credentials'] })
    expect((await begin({}, other)).body.error).toBe('unauthorized_client')
    expect((await begin({}, { ...bank, secret: 'x'.repeat(43) })).status).toBe(401)
  })

  it('does not bury a user under questions (CIBA Core §13)', async () => {
    const flood = async (client: TestClient): Promise<readonly string[]> => {
      const asked = Array.from({ length: 15 }, () => begin({ login_hint: 'bob' }, client))
      const answers = await Promise.all(asked)
      return answers.map(({ status, body }) => `${status} ${body.error ?? ''}`).sort()
    }
    const outcome = (taken: number): readonly string[] => [
      ...Array.from({ length: taken }, () => '200 '),
      ...Array.from({ length: 15 - taken }, () => '403 access_denied'),
    ]
    expect(await flood(bank)).toEqual(outcome(10))
    // The requests of one client keep those of no other out, until the page has 50 of five.
    for (let i = 0; i < 4; i += 1) {
      const clientId = `asking-${i}`
      const other = await site.client({ clientId, grantTypes: ['CIBA'], scopes: ['profile'] })
      expect(await flood(other)).toEqual(outcome(10))
    }
    const last = await site.client({ clientId: 'last', grantTypes: ['CIBA'], scopes: ['profile'] })
    expect(await flood(last)).toEqual(outcome(0))
    expect((await begin({ login_hint: 'alice' }, last)).status).toBe(200)
  })

  it('knows no user who is disabled or locked, at any time (CVE-2026-9798)', async () => {
    const carol = await addPerson(site, 'carol')
    const { auth_req_id } = (await begin({ login_hint: 'carol' })).body
    const who = newPerson(site)
    await who.submit(await who.signIn(approvals(), 'carol'), { decision: 'allow' })
    const { body } = await site.admin('GET', `/users/${carol}`)
    await site.admin('PUT', `/users/${carol}`, { ...body, enabled: false })
    expect(await errorOf(auth_req_id)).toBe('invalid_grant')
    expect((await begin({ login_hint: 'carol' })).body.error).toBe('unknown_user_id')
  })

  it('pings a client that wants it, again where it was out of reach, with its own token (§10.2)', async () => {
    const missing = await begin({ scope: 'openid' }, pinged)
    expect([missing.status, missing.body.error]).toEqual([400, 'invalid_request'])
    const token = 'a-token-of-the-client'
    const { auth_req_id } = (
      await begin(
        { scope: 'openid', binding_message: 'ping me', client_notification_token: token },
        pinged,
      )
    ).body
    expect(peer.told).toEqual([])
    await decide(person, 'ping me', 'allow')
    const { areas } = site.server
    const jobs = await areas.storage.db.selectFrom('jobs').select('payload').execute()
    expect(JSON.stringify(jobs)).not.toContain(token)
    await runJobs(areas.jobs, areas.oidc.pings)
    expect(peer.told).toHaveLength(1)
    now += 1000
    await runJobs(areas.jobs, areas.oidc.pings)
    expect(peer.told).toHaveLength(2)
    expect(peer.told[1]).toEqual({ authorization: `Bearer ${token}`, body: { auth_req_id } })
    expect((await ask(auth_req_id, pinged)).status).toBe(200)
    const { db } = site.server.areas.storage
    const rows = await db.selectFrom('ciba_requests').select('data').execute()
    expect(JSON.stringify(rows)).not.toContain(token)
  })

  it('pings no address that nobody allowed (GHSA-29jh-8cfq-rr8x)', async () => {
    const inside = await site.client({
      clientId: 'inside',
      grantTypes: ['CIBA'],
      backchannelTokenDeliveryMode: 'ping',
      backchannelClientNotificationEndpoint: 'https://169.254.169.254/latest',
    })
    const message = 'lead inside'
    await begin(
      { scope: 'openid', binding_message: message, client_notification_token: 'a-token' },
      inside,
    )
    await decide(person, message, 'allow')
    const { areas } = site.server
    await runJobs(areas.jobs, areas.oidc.pings)
    const job = await areas.storage.db
      .selectFrom('jobs')
      .select(['attempts', 'result'])
      .where('target', '=', inside.id)
      .executeTakeFirst()
    expect(job).toMatchObject({ attempts: 1, result: expect.stringContaining('not allowed') })
  })

  it('is configured with an endpoint where it pings', async () => {
    const refused = site.client({ clientId: 'deaf', backchannelTokenDeliveryMode: 'ping' })
    await expect(refused).rejects.toThrow('ping needs backchannelClientNotificationEndpoint')
  })
})
