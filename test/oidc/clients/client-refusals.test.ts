/** Refusals to a known client before a token request are recorded as audit events. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fields, openWorld, type World } from '../../security/tokens/grants-in-flight.ts'
import { backends } from '../../support/backends.ts'
import type { TestClient } from '../fixture.ts'
import { addPerson, change, redirectUri } from '../relying-party.ts'

describe.each(backends)('refusals before the token endpoint on $name', (backend) => {
  let world: World
  let other: TestClient
  beforeAll(async () => {
    world = await openWorld(backend)
    other = await world.site.client({ clientId: 'other', grantTypes: ['client_credentials'] })
    const bob = await addPerson(world.site, 'bob')
    await change(world.site, `/users/${bob}`, { enabled: false })
  }, 60_000)
  afterAll(() => world.site.close())

  const events = async (type: string) => {
    const { body } = await world.site.admin('GET', `/events?type=${type}&size=200`)
    return body.items
  }

  const ciba = '/backchannel-authentication'
  const pushed = { response_type: 'code', redirect_uri: redirectUri, scope: 'openid' }
  const cases: readonly [string, string, Fields, (() => TestClient)?][] = [
    [ciba, 'unknown_user_id', { scope: 'openid', login_hint: 'nobody-knows-them' }],
    [ciba, 'unknown_user_id', { scope: 'openid', login_hint: 'bob' }],
    [ciba, 'invalid_request', { scope: 'openid', id_token_hint: 'not-an-id-token' }],
    [ciba, 'invalid_scope', { scope: 'openid email', login_hint: 'alice' }],
    [ciba, 'invalid_request', { scope: 'openid', request: 'not-a-request-object' }],
    [ciba, 'unauthorized_client', { scope: 'openid', login_hint: 'alice' }, () => other],
    ['/device', 'invalid_scope', { scope: 'openid email' }],
    ['/device', 'invalid_target', { resource: 'https://api.example' }],
    ['/device', 'unauthorized_client', {}, () => other],
    ['/par', 'invalid_request', { ...pushed, redirect_uri: 'https://evil.example/' }],
    ['/par', 'invalid_scope', { ...pushed, scope: 'openid email' }],
    ['/par', 'invalid_request', { ...pushed, request_uri: 'urn:not-here' }],
    ['/par', 'invalid_request_object', { request: 'not-a-request-object' }],
  ]
  it.each(cases)('%s records %s of %j', async (path, error, fields, of = () => world.every) => {
    const before = await events('CLIENT_LOGIN')
    const { status, body } = await world.site.post(path, { ...world.as(of()), ...fields })
    expect([status, body.error]).toEqual([400, error])
    const [event, ...others] = await events('CLIENT_LOGIN')
    expect(others).toEqual(before)
    expect(event).toMatchObject({
      outcome: 'FAILURE',
      actor: of().id,
      resourceId: of().id,
      detail: expect.stringMatching(new RegExp(`^${error}: .`)),
    })
    for (const told of [
      of().secret,
      'nobody-knows-them',
      'bob',
      'not-an-id-token',
      'not-a-request',
    ])
      expect(event.detail).not.toContain(told)
  })

  it('record nothing of what is taken', async () => {
    const before = await events('CLIENT_LOGIN')
    const taken: readonly [string, Fields][] = [
      [ciba, { scope: 'openid', login_hint: 'alice' }],
      ['/device', { scope: 'openid' }],
      ['/par', pushed],
    ]
    for (const [path, fields] of taken) {
      const { status } = await world.site.post(path, { ...world.as(world.every), ...fields })
      expect([path, status]).toEqual([path, path === '/par' ? 201 : 200])
    }
    expect(await events('CLIENT_LOGIN')).toEqual(before)
  })

  it('/revoke records who has a token of another client, which stays good', async () => {
    const { site, every, as } = world
    const { access_token, refresh_token } = await world.tokens()
    for (const [kind, token] of Object.entries({ access_token, refresh_token })) {
      const before = await events('REVOKE_GRANT')
      const { status, body } = await site.post('/revoke', { ...as(other), token })
      expect([status, body.error]).toEqual([400, 'invalid_request'])
      const [event, ...others] = await events('REVOKE_GRANT')
      expect(others).toEqual(before)
      expect(event).toMatchObject({
        outcome: 'FAILURE',
        actor: other.id,
        resourceId: every.id,
        detail: `${kind}: it was issued to another client`,
      })
      const asked = await site.post('/introspect', { ...as(every), token })
      expect([kind, asked.body.active]).toEqual([kind, true])
    }
    const none = await events('REVOKE_GRANT')
    expect((await site.post('/revoke', { ...as(other), token: 'x' })).status).toBe(200)
    expect(await events('REVOKE_GRANT')).toEqual(none)
  })
})
