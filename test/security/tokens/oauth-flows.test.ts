/** Rules for all grants: clients, scopes and single-use handles. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { change } from '../../oidc/relying-party.ts'
import { backends } from '../../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../../support/server.ts'
import { everyGrant, openWorld, urns, type World } from './grants-in-flight.ts'

describe.each(backends)('every grant on $name', (backend) => {
  let world: World
  beforeAll(async () => {
    world = await openWorld(backend)
  }, 60_000)
  afterAll(() => world.site.close())

  /** What each grant answers, all of them asked in turn. */
  const answers = async (
    flows: Readonly<Record<string, Readonly<Record<string, string>>>>,
  ): Promise<Record<string, string>> => {
    const result: Record<string, string> = {}
    for (const [name, fields] of Object.entries(flows)) {
      const { status, body } = await world.redeem(fields)
      result[name] = `${status} ${body.error ?? 'tokens'}`
    }
    return result
  }
  const all = (answer: string, others: Record<string, string> = {}) => ({
    authorization_code: answer,
    refresh_token: answer,
    password: answer,
    device: answer,
    CIBA: answer,
    'token-exchange': answer,
    ...others,
  })

  it('gives tokens about the user, once everything is in order', async () => {
    expect(await answers(await world.inFlight())).toEqual(all('200 tokens'))
  })

  it('gives none about a user who is disabled on the way (CVE-2025-14559, CVE-2025-53942)', async () => {
    const flows = await world.inFlight()
    await change(world.site, `/users/${world.aliceId}`, { enabled: false })
    const refused = all('400 invalid_grant', { 'token-exchange': '400 invalid_request' })
    expect(await answers(flows)).toEqual(refused)
    await change(world.site, `/users/${world.aliceId}`, { enabled: true })
    expect(await answers(flows)).toEqual({ ...refused, password: '200 tokens' })
  })

  it('gives none to a client that is disabled on the way (CVE-2026-1486)', async () => {
    const flows = {
      ...(await world.inFlight()),
      client_credentials: { grant_type: 'client_credentials' },
    }
    await change(world.site, `/clients/${world.every.id}`, { enabled: false })
    const refused = await answers(flows)
    await change(world.site, `/clients/${world.every.id}`, { enabled: true })
    expect(refused).toEqual(all('401 invalid_client', { client_credentials: '401 invalid_client' }))
  })

  it('gives none in a realm that is disabled on the way, and all of them once it is back', async () => {
    const flows = {
      ...(await world.inFlight()),
      client_credentials: { grant_type: 'client_credentials' },
    }
    await change(world.site, '/settings', { enabled: false })
    const refused = await answers(flows)
    await change(world.site, '/settings', { enabled: true })
    expect(refused).toEqual(
      all('404 invalid_request', { client_credentials: '404 invalid_request' }),
    )
    expect(await answers(flows)).toEqual(all('200 tokens', { client_credentials: '200 tokens' }))
  })

  it('gives none to a client that may not use the grant any more (CVE-2026-9792)', async () => {
    const flows = {
      ...(await world.inFlight()),
      client_credentials: { grant_type: 'client_credentials' },
    }
    for (const name of everyGrant) {
      const grantTypes = everyGrant.filter((one) => one !== name)
      await change(world.site, `/clients/${world.every.id}`, { grantTypes })
      const { status, body } = await world.redeem(flows[name as keyof typeof flows] ?? {})
      expect([name, status, body.error]).toEqual([name, 400, 'unauthorized_client'])
    }
    await change(world.site, `/clients/${world.every.id}`, { grantTypes: [...everyGrant] })
  })

  it('gives none without a proof where tokens must be bound (CVE-2026-9792)', async () => {
    const flows = {
      ...(await world.inFlight()),
      client_credentials: { grant_type: 'client_credentials' },
    }
    await change(world.site, `/clients/${world.every.id}`, { dpopBoundAccessTokens: true })
    const refused = await answers(flows)
    await change(world.site, `/clients/${world.every.id}`, { dpopBoundAccessTokens: false })
    expect(refused).toEqual(
      all('400 invalid_request', { client_credentials: '400 invalid_request' }),
    )
  })

  it('gives no scope that the client does not have (CVE-2024-52287)', async () => {
    const { site, every, as } = world
    const flows = await world.inFlight()
    const scope = 'openid email'
    const started = {
      device: await site.post('/device', { ...as(every), scope }),
      CIBA: await site.post('/backchannel-authentication', {
        ...as(every),
        scope,
        login_hint: 'alice',
      }),
      par: await site.post('/par', {
        ...as(every),
        scope,
        response_type: 'code',
        redirect_uri: 'https://app.example/callback',
      }),
      client_credentials: await world.redeem({ grant_type: 'client_credentials', scope }),
      password: await world.redeem({ ...flows['password'], scope }),
      refresh_token: await world.redeem({ ...flows['refresh_token'], scope }),
      'token-exchange': await world.redeem({ ...flows['token-exchange'], scope }),
    }
    for (const [name, { status, body }] of Object.entries(started))
      expect([name, status, body.error]).toEqual([name, 400, 'invalid_scope'])
  })

  it('gives one answer to 50 that ask at the same moment (CVE-2026-1035, GHSA-7w99-5wm4-3g79)', async () => {
    const flows = await world.inFlight()
    for (const name of ['authorization_code', 'device', 'CIBA'] as const) {
      const all = await Promise.all(
        Array.from({ length: 50 }, () => world.redeem(flows[name] ?? {})),
      )
      const given = all.filter(({ status }) => status === 200)
      expect([name, given.length]).toEqual([name, 1])
      expect(all.filter(({ status }) => status >= 500)).toEqual([])
    }
  })

  // A SQLite file belongs to one server.
  it.runIf(backend.name === 'postgres')(
    'gives one answer also where several nodes are asked, and none on a node that started since (GHSA-392p-2q2v-4372)',
    async () => {
      const { every, as, site } = world
      const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
      const flows = await world.inFlight()
      const askNode = (node: TestServer, fields: Readonly<Record<string, string>>) => {
        const body = new URLSearchParams({ ...as(every), ...fields }).toString()
        return node.anonymous.send('POST', '/realms/acme/token', body, asForm)
      }
      const names = ['authorization_code', 'device', 'CIBA']
      const second = await startServer(backend, { url: site.server.url })
      for (const name of names) {
        const fields = flows[name] ?? {}
        const both = (): Promise<Answer>[] => [
          askNode(site.server, fields),
          askNode(second, fields),
        ]
        const asked = await Promise.all(Array.from({ length: 25 }, both).flat())
        expect([name, asked.filter(({ status }) => status === 200).length]).toEqual([name, 1])
      }
      await second.close()
      const third = await startServer(backend, { url: site.server.url })
      for (const name of names)
        expect([name, (await askNode(third, flows[name] ?? {})).status]).toEqual([name, 400])
      await third.close()
    },
  )

  it('takes no handle of one kind for one of another (CVE-2026-4282, CVE-2026-7571)', async () => {
    const { site, every, as } = world
    const flows = await world.inFlight()
    const pushed = await site.post('/par', {
      ...as(every),
      response_type: 'code',
      redirect_uri: 'https://app.example/callback',
      scope: 'openid',
    })
    const handles = {
      code: flows['authorization_code']?.['code'] ?? '',
      refresh: flows['refresh_token']?.['refresh_token'] ?? '',
      device: flows['device']?.['device_code'] ?? '',
      ciba: flows['CIBA']?.['auth_req_id'] ?? '',
      pushed: String(pushed.body.request_uri).replace(/^.*:/, ''),
      session: [...world.alice.jar.values()].join(''),
      access: flows['token-exchange']?.['subject_token'] ?? '',
    }
    const places: [keyof typeof handles, (handle: string) => Record<string, string>][] = [
      ['code', (code) => ({ ...flows['authorization_code'], code })],
      ['refresh', (refresh_token) => ({ grant_type: 'refresh_token', refresh_token })],
      ['device', (device_code) => ({ grant_type: urns.device, device_code })],
      ['ciba', (auth_req_id) => ({ grant_type: urns.ciba, auth_req_id })],
    ]
    for (const [own, fieldsOf] of places)
      for (const [kind, handle] of Object.entries(handles)) {
        if (kind === own) continue
        const { status, body } = await world.redeem(fieldsOf(handle))
        expect([own, kind, status, body.error]).toEqual([own, kind, 400, 'invalid_grant'])
      }
    for (const [kind, handle] of Object.entries(handles)) {
      const page = await world.alice.open(`${site.issuer}/authorize/${encodeURIComponent(handle)}`)
      expect([kind, page.status, page.away]).toEqual([kind, 403, undefined])
    }
    expect(await answers(flows)).toEqual(all('200 tokens'))
  })
})
