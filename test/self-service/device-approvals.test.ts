/** A CIBA request that an enrolled device of the user decides with its key alone (docs/decisions/device-approvals.md). */

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Delivery } from '#server/messaging/sender.ts'
import { claimsOf } from '../oidc/fixture.ts'
import { openWorld, type World } from '../sign-in/world.ts'
import { backends } from '../support/backends.ts'
import { send } from '../support/server.ts'
import { appOf, catchPushes, type DeviceKey, enrolDevice, newKey, openPhone } from './phone.ts'

interface Enrolled {
  readonly username: string
  readonly userId: string
  readonly deviceId: string
  readonly key: DeviceKey
}

/** As a verifier outside would make it. */
const digest = (...fields: readonly string[]): Buffer => {
  const hash = createHash('sha256')
  for (const field of fields) hash.update(`${Buffer.byteLength(field)}:${field},`)
  return hash.digest()
}

describe.each(backends)('a device that decides on $name', (backend) => {
  let world: World
  let secret = ''
  let count = 0
  const sent: Delivery[] = []
  beforeAll(async () => {
    world = await openWorld(backend)
    const client = {
      clientId: 'bank',
      name: 'The Bank',
      grantTypes: ['CIBA'],
      scopes: ['profile', 'pay'],
    }
    await world.must('POST', '/client-scopes', { name: 'pay', highRisk: true })
    secret = (await world.must('POST', '/clients', client)).secret
    await catchPushes(world, sent)
  })
  afterAll(() => world.close())

  const post = (path: string, fields: Record<string, string>) =>
    send(
      world.server.app,
      'POST',
      `/realms/shop${path}`,
      new URLSearchParams({ client_id: 'bank', client_secret: secret, ...fields }).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
  const issuer = () => `${world.server.baseUrl}/realms/shop`
  const app = (path: string, body: unknown) => appOf(world.server, 'shop')(path, body)

  const enrolled = async (key = newKey()): Promise<Enrolled> => {
    count += 1
    const username = `user-${count}`
    const userId = await world.addUser(username)
    const phone = await openPhone(world.server, 'shop', username)
    return { username, userId, ...(await enrolDevice(world.server, 'shop', phone, { key })) }
  }

  /** The client asks; what the client got, and the id that the message brought to the device. */
  const asked = async ({ username }: Enrolled, more: Record<string, string> = {}) => {
    sent.length = 0
    const { status, body } = await post('/backchannel-authentication', {
      scope: 'openid profile',
      login_hint: username,
      binding_message: 'Pay 10 EUR to Ann',
      ...more,
    })
    expect(status).toBe(200)
    await world.settle()
    const { request = '' } = (sent[0]?.data ?? {}) as Record<string, string>
    expect(request).not.toBe('')
    expect(request).not.toBe(body.auth_req_id)
    return { request, authReqId: body.auth_req_id as string }
  }

  const read = ({ deviceId, key }: Enrolled, request: string) =>
    app(`/device/approvals/${request}`, {
      deviceId,
      signature: key.sign(digest('iamctl-approval-read-1', issuer(), request, deviceId)),
    })

  const signature = async (
    by: Enrolled,
    request: string,
    decision: string,
    changed: Record<string, string> = {},
  ): Promise<string> => {
    const { body } = await read(by, request)
    const shown = { ...body, ...changed }
    return by.key.sign(
      digest(
        'iamctl-approval-1',
        issuer(),
        request,
        decision,
        shown.clientId,
        shown.userId,
        shown.bindingMessage,
        shown.scope,
        String(shown.expiresAt),
      ),
    )
  }

  const decide = async (by: Enrolled, request: string, decision: string) =>
    app(`/device/approvals/${request}/decision`, {
      deviceId: by.deviceId,
      decision,
      signature: await signature(by, request, decision),
    })

  const redeem = (auth_req_id: string) =>
    post('/token', { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id })

  it('signs a high-risk scope that it was shown, for a token of five minutes', async () => {
    const mine = await enrolled()
    const { request, authReqId } = await asked(mine, { scope: 'openid pay' })
    expect((await read(mine, request)).body.scope).toBe('openid pay')
    const other = await app(`/device/approvals/${request}/decision`, {
      deviceId: mine.deviceId,
      decision: 'allow',
      signature: await signature(mine, request, 'allow', { scope: 'openid' }),
    })
    expect(other.status).toBe(404)
    expect((await decide(mine, request, 'allow')).status).toBe(200)
    const tokens = await redeem(authReqId)
    expect(tokens.body).toMatchObject({ scope: 'openid pay' })
    expect(tokens.body.expires_in).toBeLessThanOrEqual(300)
  })

  it.each(['ES256', 'Ed25519'] as const)(
    'is shown what is asked, and allows it (%s)',
    async (type) => {
      const mine = await enrolled(newKey(type))
      const { request, authReqId } = await asked(mine)
      const shown = await read(mine, request)
      expect(shown.status).toBe(200)
      expect(shown.body).toMatchObject({
        id: request,
        status: 'PENDING',
        clientId: 'bank',
        clientName: 'The Bank',
        userId: mine.userId,
        bindingMessage: 'Pay 10 EUR to Ann',
        scope: 'openid profile',
      })
      expect((await redeem(authReqId)).body.error).toBe('authorization_pending')
      expect(await decide(mine, request, 'allow')).toMatchObject({
        status: 200,
        body: { id: request, status: 'APPROVED' },
      })
      const tokens = await redeem(authReqId)
      expect(tokens.status).toBe(200)
      expect(claimsOf(tokens.body.access_token)).toMatchObject({
        sub: mine.userId,
        scope: 'openid profile',
        acr: '1',
        amr: ['swk'],
      })
      const { items } = await world.must('GET', '/events?type=GRANT_CONSENT')
      expect(items[0]).toMatchObject({ actor: mine.userId, outcome: 'SUCCESS' })
    },
  )

  it('ends what it allowed with the session that it opened', async () => {
    const mine = await enrolled()
    const { request, authReqId } = await asked(mine)
    await decide(mine, request, 'allow')
    const { body } = await redeem(authReqId)
    const { sid } = claimsOf(body.access_token)
    await world.must('DELETE', `/sessions/${sid}`)
    const told = await post('/introspect', { token: body.access_token })
    expect(told.body).toEqual({ active: false })
  })

  it('denies it, and nothing comes of it', async () => {
    const mine = await enrolled()
    const { request, authReqId } = await asked(mine)
    expect((await decide(mine, request, 'deny')).body).toEqual({ id: request, status: 'DENIED' })
    expect((await redeem(authReqId)).body.error).toBe('access_denied')
    expect((await decide(mine, request, 'allow')).status).toBe(409)
  })

  it('decides once: the same signature a second time, or at the same moment, is refused', async () => {
    const mine = await enrolled()
    const { request } = await asked(mine)
    const body = {
      deviceId: mine.deviceId,
      decision: 'allow',
      signature: await signature(mine, request, 'allow'),
    }
    const path = `/device/approvals/${request}/decision`
    const answers = await Promise.all([1, 2, 3].map(() => app(path, body)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    expect((await app(path, body)).status).toBe(409)
  })

  it('decides on one request: its signature for another is refused', async () => {
    const mine = await enrolled()
    const [one, other] = [await asked(mine), await asked(mine)]
    const answer = await app(`/device/approvals/${other.request}/decision`, {
      deviceId: mine.deviceId,
      decision: 'allow',
      signature: await signature(mine, one.request, 'allow'),
    })
    expect(answer.status).toBe(404)
    expect((await redeem(other.authReqId)).body.error).toBe('authorization_pending')
  })

  it('cannot decide too late', async () => {
    const mine = await enrolled()
    const { request, authReqId } = await asked(mine, { requested_expiry: '30' })
    const body = {
      deviceId: mine.deviceId,
      decision: 'allow',
      signature: await signature(mine, request, 'allow'),
    }
    world.clock.advance(31_000)
    expect((await read(mine, request)).body.status).toBe('EXPIRED')
    expect((await app(`/device/approvals/${request}/decision`, body)).status).toBe(410)
    expect((await redeem(authReqId)).body.error).toBe('expired_token')
  })

  it('of another user sees nothing and decides nothing, whatever it signs', async () => {
    const [mine, foreign] = [await enrolled(), await enrolled()]
    const { request, authReqId } = await asked(mine)
    expect((await read(foreign, request)).status).toBe(404)
    // Their own key under the id of the device that is asked, and their own device with a right signature of it.
    const disguised = { ...foreign, deviceId: mine.deviceId }
    expect((await read(disguised, request)).status).toBe(404)
    const right = await signature(mine, request, 'allow')
    const forged = foreign.key.sign(digest('iamctl-approval-1', issuer(), request, 'allow'))
    for (const [deviceId, given] of [
      [foreign.deviceId, right],
      [mine.deviceId, forged],
      ['no-such-device', right],
    ])
      expect(
        (
          await app(`/device/approvals/${request}/decision`, {
            deviceId,
            decision: 'allow',
            signature: given,
          })
        ).status,
      ).toBe(404)
    expect((await redeem(authReqId)).body.error).toBe('authorization_pending')
    const { items } = await world.must('GET', '/events?type=MFA_FAILURE')
    expect(items[0]).toMatchObject({ actor: mine.userId, detail: 'push-signature' })
  })

  it.each([
    ['binding message', { bindingMessage: 'Pay 10000 EUR to Eve' }],
    ['scope', { scope: 'openid' }],
    ['client', { clientId: 'other' }],
    ['user', { userId: '01a1e792-4941-7561-9cc9-7140ccf9a278' }],
    ['end', { expiresAt: '1' }],
  ])('signs what it shows: of another %s it is no decision', async (_what, changed) => {
    const mine = await enrolled()
    const { request } = await asked(mine)
    const answer = await app(`/device/approvals/${request}/decision`, {
      deviceId: mine.deviceId,
      decision: 'allow',
      signature: await signature(mine, request, 'allow', changed),
    })
    expect(answer.status).toBe(404)
    // A signature to deny allows nothing.
    const turned = await app(`/device/approvals/${request}/decision`, {
      deviceId: mine.deviceId,
      decision: 'allow',
      signature: await signature(mine, request, 'deny'),
    })
    expect(turned.status).toBe(404)
  })

  it('is none any more once it is removed, or its user is disabled', async () => {
    for (const end of [
      ({ userId }: Enrolled, id: string) =>
        world.must('DELETE', `/users/${userId}/credentials/push/${id}`),
      ({ userId, username }: Enrolled) =>
        world.must('PUT', `/users/${userId}`, { username, enabled: false }),
    ]) {
      const mine = await enrolled()
      const { request } = await asked(mine)
      const body = {
        deviceId: mine.deviceId,
        decision: 'allow',
        signature: await signature(mine, request, 'allow'),
      }
      const devices = await world.server.areas.credentials.devices.of(mine.userId)
      await end(mine, devices[0]?.row.id ?? '')
      expect((await app(`/device/approvals/${request}/decision`, body)).status).toBe(404)
    }
  })
})
