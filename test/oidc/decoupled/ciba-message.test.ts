/** Notification of a user about a CIBA request (CIBA Core §8): on a reachable device, otherwise by mail. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Delivery } from '#server/messaging/sender.ts'
import { personOf } from '../../self-service/person.ts'
import { catchPushes, enrolDevice, openPhone, pushToken } from '../../self-service/phone.ts'
import { openWorld, type World } from '../../sign-in/world.ts'
import { backends } from '../../support/backends.ts'
import { send } from '../../support/server.ts'

describe.each(backends)('a request of a client for a user who is elsewhere on $name', (backend) => {
  let world: World
  let secret = ''
  beforeAll(async () => {
    world = await openWorld(backend)
    const client = { clientId: 'bank', name: 'The Bank', grantTypes: ['CIBA'] }
    secret = (await world.must('POST', '/clients', client)).secret
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
  const ask = (login_hint: string) =>
    post('/backchannel-authentication', { scope: 'openid', login_hint })
  const approvals = () => `${world.server.baseUrl}/realms/shop/approvals`

  it('reaches the user by mail, whose link leads to the decision', async () => {
    const userId = await world.addUser('ann')
    const asked = await ask('ann')
    expect(asked.status).toBe(200)
    const mail = await world.lastMail()
    expect(world.mail.mails.at(-1)?.to).toEqual(['ann@shop.example'])
    expect(mail).toContain('The Bank')
    expect(mail).toContain(approvals())
    expect(mail).not.toContain(asked.body.auth_req_id)

    const { browser } = await personOf(world, userId)
    const page = await browser.get(await world.mailedLink())
    const request = /name="request" value="([^"]+)"/.exec(page.body)?.[1] ?? ''
    const _csrf = browser.cookies.get('XSRF-TOKEN') ?? ''
    await browser.post('/realms/shop/approvals', { request, decision: 'allow', _csrf })
    const tokens = await post('/token', {
      grant_type: 'urn:openid:params:grant-type:ciba',
      auth_req_id: asked.body.auth_req_id,
    })
    expect([tokens.status, typeof tokens.body.access_token]).toEqual([200, 'string'])
  })

  it('sends nothing for a user who is not there, and stands where nothing can be sent', async () => {
    const before = world.mail.mails.length
    expect((await ask('nobody')).body.error).toBe('unknown_user_id')
    await world.addUser('mute', { email: null })
    expect((await ask('mute')).status).toBe(200)
    await world.settle()
    expect(world.mail.mails.length).toBe(before)
  })

  it('reaches the enrolled devices of the user instead, where the realm can send to them', async () => {
    await world.addUser('bob')
    const phone = await openPhone(world.server, 'shop', 'bob')
    await enrolDevice(world.server, 'shop', phone)
    await ask('bob')
    await world.settle()
    expect(world.mail.mails.at(-1)?.to).toEqual(['bob@shop.example'])

    const sent: Delivery[] = []
    await catchPushes(world, sent)
    expect((await ask('bob')).status).toBe(200)
    await world.settle()
    expect(sent).toMatchObject([
      {
        channel: 'PUSH',
        to: pushToken,
        templateKey: 'ciba-request',
        values: { application: 'The Bank' },
        data: { link: approvals(), realm: 'shop' },
      },
    ])
  })
})
