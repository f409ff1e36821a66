/** The password grant applies the sign-in flow: it succeeds only where the page would ask for nothing but a password. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, password, type World } from '../../../sign-in/world.ts'
import { anyBackend } from '../../../support/backends.ts'
import { send } from '../../../support/server.ts'

const either = (authenticator: string) => ({ authenticator, requirement: 'ALTERNATIVE' as const })
const part = { flowAlias: 'browser-second-factor', requirement: 'CONDITIONAL' as const }
const first = { authenticator: 'username-password' }
const name = { authenticator: 'identify' }

type Steps = Parameters<World['setFlow']>

const flows: Readonly<Record<string, Steps>> = {
  'a password': [[first]],
  'a name, then a password': [[name, { authenticator: 'password' }]],
  'a password or a link': [[name, either('email-link'), either('password')]],
  'an app of everybody': [[first, { authenticator: 'totp' }]],
  'an app or a key of everybody': [[first, either('totp'), either('webauthn')]],
  'a code by mail': [[first, { authenticator: 'email-code' }]],
  'an app of those who have one': [[first, { authenticator: 'totp', requirement: 'CONDITIONAL' }]],
  'a factor of those who have one': [
    [first, part],
    [{ authenticator: 'condition-user-has-factor' }, either('totp'), either('recovery-code')],
  ],
  'an app for another client': [
    [first, part],
    [
      { authenticator: 'condition-client', authenticatorConfig: { clients: 'other' } },
      { authenticator: 'totp' },
    ],
  ],
  'a code in a browser that is not known': [
    [first, part],
    [{ authenticator: 'condition-new-device' }, { authenticator: 'email-code' }],
  ],
  'the terms': [[first, { authenticator: 'terms' }]],
  'a passkey alone': [[{ authenticator: 'webauthn-passwordless' }]],
  'a link alone': [[name, { authenticator: 'email-link' }]],
  'a picture alone': [[{ authenticator: 'qr' }]],
}

describe.each(anyBackend)('the password grant and the flow of the realm on $name', (backend) => {
  let world: World
  let count = 0
  beforeAll(async () => {
    world = await openWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'old',
      publicClient: true,
      grantTypes: ['password'],
    })
    await world.addUser('plain', { emailVerified: true })
    await world.addTotp(await world.addUser('armed', { emailVerified: true }))
    await world.must('PUT', `/users/${await world.addUser('due')}/required-actions`, [
      'UPDATE_PASSWORD',
    ])
  })
  afterAll(() => world.close())

  const ask = (username: string, given = password) =>
    send(
      world.server.app,
      'POST',
      '/realms/shop/token',
      new URLSearchParams({
        grant_type: 'password',
        client_id: 'old',
        username,
        password: given,
      }).toString(),
      { 'content-type': 'application/x-www-form-urlencoded' },
    )
  /** Answers with the name and the password alone. */
  const signsIn = async (username: string): Promise<boolean> => {
    const browser = world.browser()
    await browser.open('/realms/shop/login')
    for (let page = 0; page < 3 && !browser.isSignedIn('shop'); page += 1) {
      const choice = await browser.submit({ step: 'other' })
      const methods = [...choice.body.matchAll(/name="method" value="([^"]+)"/g)]
      if (methods.length > 0) await browser.submit({ method: methods.at(-1)?.[1] ?? '' })
      else await browser.open(browser.path)
      await browser.submit({ username, password })
    }
    return browser.isSignedIn('shop')
  }
  const newUser = async () => {
    count += 1
    await world.addUser(`new-${count}`, { emailVerified: true })
    return `new-${count}`
  }

  it.each(Object.entries(flows))('agree: %s', async (_name, steps) => {
    await world.setFlow(...steps)
    for (const username of ['plain', 'armed', 'due', await newUser()]) {
      // The grant first: the browser becomes known by its sign-in.
      const { status, body } = await ask(username)
      const isGiven = status === 200
      if (!isGiven) expect([status, body.error], username).toEqual([400, 'invalid_grant'])
      expect(isGiven, username).toBe(await signsIn(username))
    }
  })

  it('refuses a user who has yet to set up the factor that everybody needs, without a word on the password', async () => {
    await world.setFlow(...(flows['an app of everybody'] as Steps))
    const [right, wrong] = [await ask('plain'), await ask('plain', 'something else 1')]
    expect([right.status, right.body.error]).toEqual([400, 'invalid_grant'])
    expect(right.body.error_description).toContain('authorization code')
    expect(right.body).toEqual(wrong.body)
    const { items } = await world.must('GET', '/events?type=LOGIN_FAILURE&size=10')
    expect(items.map(({ detail }: { detail: string }) => detail)).toContain('second-factor')
  })

  it('asks for the address to be verified first, where the realm does', async () => {
    await world.setFlow([first])
    await world.addUser('unverified')
    expect((await ask('unverified')).status).toBe(200)
    await world.settings({ verifyEmail: true })
    expect((await ask('unverified')).status).toBe(400)
    await world.settings({ verifyEmail: false })
  })

  it('obeys directGrantFlow where the realm has one, which must prove its users too', async () => {
    await world.setFlow(...(flows['an app of everybody'] as Steps))
    const flow = (alias: string, ...ids: string[]) =>
      world.must('POST', '/flows', {
        alias,
        authenticationExecutions: ids.map((authenticator) => ({ authenticator })),
      })
    await flow('password-only', 'username-password')
    await flow('with-code', 'identify', 'password', 'email-code')
    await flow('nothing', 'identify')
    expect((await ask('plain')).status).toBe(400)
    await world.settings({ directGrantFlow: 'password-only' })
    expect((await ask('plain')).status).toBe(200)
    await world.settings({ directGrantFlow: 'with-code' })
    expect((await ask('plain')).status).toBe(400)
    await expect(world.settings({ directGrantFlow: 'nothing' })).rejects.toThrow('no-proof')
    await world.settings({ directGrantFlow: null })
    await world.setFlow([first])
    expect((await ask('plain')).status).toBe(200)
  })
})
