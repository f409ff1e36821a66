/**
 * An enrolled factor that the realm cannot ask for at the moment is never skipped, and no other factor is enrolled in its
 * place: an attacker who breaks the messaging provider could otherwise switch the second factor off.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { personOf } from '../../self-service/person.ts'
import { enrolDevice, openPhone } from '../../self-service/phone.ts'
import { anyBackend } from '../../support/backends.ts'
import { send } from '../../support/server.ts'
import { openWorld, password, type World } from '../world.ts'

const first = { authenticator: 'username-password' }
const steps = ['email-code', 'email-link', 'sms-code', 'push'] as const

const flowsOf = (authenticator: string) => {
  const either = (id: string) => ({ authenticator: id, requirement: 'ALTERNATIVE' as const })
  return {
    required: [first, { authenticator }],
    conditional: [first, { authenticator, requirement: 'CONDITIONAL' as const }],
    'one of two, the other to be set up': [first, either('totp'), either(authenticator)],
    'one of two, the first to be set up': [first, either(authenticator), either('webauthn')],
  }
}

const cases = steps.flatMap((step) =>
  Object.entries(flowsOf(step)).map(([name, flow]) => [`${step}, ${name}`, flow] as const),
)

describe.each(anyBackend)('a factor that cannot be asked for, on $name', (backend) => {
  let world: World
  let annaId = ''
  beforeAll(async () => {
    world = await openWorld(backend)
    await world.must('POST', '/clients', {
      clientId: 'old',
      publicClient: true,
      grantTypes: ['password'],
    })
    annaId = await world.addUser('anna', {
      emailVerified: true,
      attributes: { phoneNumber: ['+4915112345678'] },
    })
    const phone = await openPhone(world.server, 'shop', 'anna', { acr: '2' })
    await enrolDevice(world.server, 'shop', phone)
    await world.addUser('carl', {
      emailVerified: true,
      attributes: { phoneNumber: ['+4915112345678'] },
    })
    await world.addUser('bare', { email: undefined })
    await world.must('DELETE', '/messaging/providers/EMAIL/smtp')
  })
  afterAll(() => world.close())

  const signsIn = async (username: string): Promise<boolean> => {
    const browser = world.browser()
    await browser.open('/realms/shop/login')
    await browser.submit({ username, password })
    const isIn = browser.isSignedIn('shop')
    // No page on which another factor could be set up in its place.
    if (!isIn) expect(browser.page?.status).toBe(403)
    return isIn
  }
  const isGranted = async (username: string): Promise<boolean> => {
    const form = { grant_type: 'password', client_id: 'old', username, password }
    const body = new URLSearchParams(form).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    return (await send(world.server.app, 'POST', '/realms/shop/token', body, type)).status === 200
  }

  it.each(cases)('is not left out: %s', async (name, flow) => {
    await world.setFlow(flow)
    for (const username of name.startsWith('push') ? ['anna'] : ['anna', 'carl']) {
      expect(await signsIn(username), username).toBe(false)
      expect(await isGranted(username), username).toBe(false)
    }
  })

  it('is told as such in the middle of a sign-in and in a step-up, with the way back', async () => {
    await world.setFlow([first, { authenticator: 'push' }])
    const provider = { channel: 'PUSH', driver: 'fcm', config: { projectId: 'shop' }, secret: '{}' }
    await world.must('PUT', '/messaging/providers', provider)
    const browser = world.browser()
    await browser.open('/realms/shop/login')
    await browser.submit({ username: 'anna', password })
    expect(browser.page?.body).toMatch(/class="number"/)
    await world.must('DELETE', '/messaging/providers/PUSH/fcm')
    const strengthened = await personOf(world, annaId)
    await strengthened.browser.open('/realms/shop/login?authorization=account-security-strong')
    for (const { page } of [
      { page: await browser.get(browser.path) },
      { page: await browser.submit({ check: 'true' }) },
      strengthened.browser,
    ]) {
      expect(page?.status).toBe(403)
      expect(page?.body).toContain('Your phone cannot be reached')
      expect(page?.body).toContain('href="/realms/shop/login')
    }
    expect(browser.isSignedIn('shop')).toBe(false)
  })

  it.each(steps)('is not asked of users who lack it, where it is conditional: %s', async (step) => {
    await world.setFlow(flowsOf(step).conditional)
    expect(await signsIn('bare')).toBe(true)
    expect(await isGranted('bare')).toBe(true)
  })
})
