/** Mail, from the admin API to a real SMTP server. */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DeliveryError } from '#server/messaging/driver.ts'
import { type Outcome, openMessaging } from '#server/messaging/sender.ts'
import { backends } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'
import { type MailPeer, mailUser, partsOf, startMailPeer } from './mail-peer.ts'
import { removeProviders } from './providers.ts'

const [backend] = backends
if (!backend) throw new Error('there is no backend')

let server: TestServer
let peer: MailPeer
/** Made once: a realm costs a signing key. Who changes more of it than its providers makes another. */
let base = '/admin/realms/mail'
const realm = (): string => base.slice('/admin/realms/'.length)

const to = 'alice@customer.example'
const put = (provider: object): Promise<Answer> =>
  server.admin.send('PUT', `${base}/messaging/providers`, provider)
const smtp = (config: object = {}, more: object = {}): object => ({
  channel: 'EMAIL',
  driver: 'smtp',
  fromAddress: 'no-reply@acme.example',
  fromName: 'Acme',
  config: {
    host: 'localhost',
    port: peer.port,
    username: mailUser.username,
    ca: peer.ca,
    ...config,
  },
  secret: mailUser.password,
  ...more,
})
const test = (body: object = { to }): Promise<Answer> =>
  server.admin.send('POST', `${base}/messaging/providers/EMAIL/test`, body)
const send = async (more: object = {}): Promise<Outcome> => {
  const view = await server.areas.copy.fresh(realm())
  if (!view) throw new Error('no realm')
  return server.areas.messaging.send({
    view,
    templateKey: 'otp-email',
    channel: 'EMAIL',
    to,
    user: { username: 'alice' },
    values: { code: '123456', ttl: '5' },
    ...more,
  })
}

let realms = 0
const ownRealm = async (): Promise<void> => {
  realms += 1
  base = await server.createRealm(`mail-${realms}`)
}

beforeAll(async () => {
  server = await startServer(backend, { env: { IAMCTL_OUTGOING_ALLOW: 'localhost,127.0.0.1' } })
  peer = await startMailPeer()
  await server.createRealm('mail')
})
beforeEach(async () => {
  base = '/admin/realms/mail'
  await removeProviders(server, 'mail')
  peer.mails.length = 0
})
afterAll(async () => {
  await server.close()
  await peer.close()
})

describe('a provider by SMTP', () => {
  it('signs in over STARTTLS and delivers, and its password is never shown', async () => {
    const made = await put(smtp())
    expect(made.body, JSON.stringify(made.body)).toMatchObject({ secret: null, secretSet: true })
    const { status, body } = await test()
    expect(status).toBe(200)
    expect(body).toEqual({ success: true, messageId: expect.any(String), error: null })
    const [mail] = peer.mails
    expect(mail).toMatchObject({
      from: 'no-reply@acme.example',
      to: [to],
      user: mailUser.username,
      secure: true,
    })
    const { headers } = partsOf(mail?.raw ?? '')
    expect(headers.get('from')).toBe('Acme <no-reply@acme.example>')
    expect(headers.get('message-id')).toBe(body.messageId)
    expect(headers.get('auto-submitted')).toBe('auto-generated')
    const listed = await server.admin.send('GET', `${base}/messaging/providers`)
    expect(JSON.stringify(listed.body)).not.toContain(mailUser.password)
  })

  it('speaks TLS from the start where it is told to', async () => {
    const secure = await startMailPeer({ secure: true })
    await put(smtp({ port: secure.port, ca: secure.ca, secure: true }))
    expect((await test()).body).toMatchObject({ success: true })
    expect(secure.mails[0]).toMatchObject({ to: [to], secure: true, user: mailUser.username })
    await secure.close()
  })

  it.each([
    ['signed by itself', { ca: null }],
    ['of another host', { host: '127.0.0.1' }],
  ])('sends nothing to a server with a certificate %s', async (_, config) => {
    await put(smtp(config))
    const { body } = await test()
    expect(body).toMatchObject({ success: false, messageId: null })
    expect(body.error).toContain('EMAIL/smtp: no trusted TLS connection')
    expect(peer.mails).toEqual([])
  })

  it('tells no password to a server without TLS, unless TLS is not required', async () => {
    await ownRealm()
    const plain = await startMailPeer({ disabledCommands: ['STARTTLS'], authOptional: true })
    await put(smtp({ port: plain.port }))
    expect((await test()).body.error).toContain('no trusted TLS connection')
    expect(plain.mails).toEqual([])
    await put(smtp({ port: plain.port, requireTls: false, username: null }))
    expect((await test()).body).toMatchObject({ success: true })
    expect(plain.mails[0]).toMatchObject({ secure: false })
    await plain.close()
  })

  it('says that a password is wrong, and neither the password nor what the server said', async () => {
    await put(smtp({}, { secret: 'another-password' }))
    const { body } = await test()
    expect(body).toEqual({
      success: false,
      messageId: null,
      error: 'EMAIL/smtp: the mail server refused the user name or password (535)',
    })
  })

  it('uses a connection again, and a new one with what was changed', async () => {
    await put(smtp())
    const before = peer.connections()
    for (let i = 0; i < 3; i += 1) expect(await send()).toMatchObject({ status: 'sent' })
    expect(peer.connections()).toBe(before + 1)
    await put(smtp({}, { secret: 'another-password' }))
    await expect(send()).rejects.toThrow('refused the user name or password')
  })

  it('does not wait for ever', async () => {
    const silent = createServer()
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    await put(smtp({ port }))
    const { areas } = server
    const hasty = openMessaging({
      ...areas.given,
      outgoing: areas.platform.outgoing,
      reveal: areas.secrets.vault.reveal,
      logMessages: false,
      patienceMs: 50,
    })
    const view = await areas.copy.fresh(realm())
    if (!view) throw new Error('no realm')
    await expect(hasty.test(view, { channel: 'EMAIL', to })).rejects.toMatchObject({
      reason: 'EMAIL/smtp: no answer in time',
      retryable: true,
    })
    hasty.close()
    silent.close()
  })

  it('says whether a refused message may be sent again', async () => {
    const busy = await startMailPeer({
      onRcptTo: (address, _session, done) =>
        done(Object.assign(new Error('x'), { responseCode: address.address === to ? 451 : 550 })),
    })
    await put(smtp({ port: busy.port, ca: busy.ca }))
    await expect(send()).rejects.toMatchObject({ retryable: true })
    await expect(send({ to: 'nobody@customer.example' })).rejects.toMatchObject({
      name: 'DeliveryError',
      retryable: false,
      reason: 'EMAIL/smtp: the mail server refused the message (550)',
    })
    await busy.close()
    await expect(send()).rejects.toMatchObject({ retryable: true })
  })
})

describe('what is not configured', () => {
  it('is an outcome with its reason, and no error', async () => {
    const reason = 'the realm has no messaging provider for EMAIL'
    expect((await test()).body).toEqual({ success: false, messageId: null, error: reason })
    expect(await send()).toEqual({ status: 'inert', reason })
    await put(smtp({}, { enabled: false }))
    expect(await send()).toEqual({
      status: 'inert',
      reason: 'no messaging provider for EMAIL is enabled',
    })
    await put(smtp({}, { fromAddress: null }))
    expect(await send()).toEqual({ status: 'inert', reason: 'EMAIL/smtp has no fromAddress' })
    expect(peer.mails).toEqual([])
  })

  it('can be tried before it is enabled, by its name', async () => {
    await put(smtp({}, { enabled: false }))
    expect((await test({ to, driver: 'smtp' })).body).toMatchObject({ success: true })
  })

  it('turns a template off', async () => {
    await ownRealm()
    await put(smtp())
    const off = { templateKey: 'otp-email', channel: 'EMAIL', body: 'x', enabled: false }
    await server.admin.send('PUT', `${base}/messaging/templates`, off)
    const reason = 'the template otp-email for EMAIL is not enabled'
    expect(await send()).toEqual({ status: 'inert', reason })
    // The translations that come with the server are those of the English one.
    expect(await send({ locale: 'nl' })).toEqual({ status: 'inert', reason })
    expect(await send({ templateKey: 'nothing' })).toMatchObject({ status: 'inert' })
  })
})

describe('a mail', () => {
  const evil = 'x\r\nBcc: evil@evil.example\r\n\r\n<h1>'

  it('has no header that a value, a name or a subject brings along', async () => {
    await ownRealm()
    await put(smtp())
    await server.admin.send('PUT', `${base}/settings`, { displayName: evil })
    await server.admin.send('PUT', `${base}/messaging/templates`, {
      templateKey: 'otp-email',
      channel: 'EMAIL',
      subject: '{{realm}} {{user}} {{user.note}} {{code}}',
      body: '{{user}}',
    })
    const user = { username: evil, attributes: { note: [`${evil}\u2028\u0000\u0085`] } }
    await send({ user, values: { code: evil }, id: evil })
    await test()
    expect(peer.mails).toHaveLength(2)
    for (const mail of peer.mails) {
      expect(mail.to).toEqual([to])
      expect([...partsOf(mail.raw).headers.keys()].sort()).toEqual([
        'auto-submitted',
        'content-transfer-encoding',
        'content-type',
        'date',
        'from',
        'message-id',
        'mime-version',
        'subject',
        'to',
      ])
    }
  })

  it.each([
    ['fromName', 'Acme\r\nBcc: evil@evil.example'],
    ['fromAddress', 'no-reply@acme.example\r\nBcc: evil@evil.example'],
    ['fromAddress', 'no-reply@acme.example, evil@evil.example'],
    ['fromAddress', 'Acme <no-reply@acme.example>'],
    ['fromAddress', 'no-reply'],
  ])('does not come from a provider whose %s is %j', async (field, value) => {
    const { status, body } = await put(smtp({}, { [field]: value }))
    expect(status).toBe(400)
    expect(body.errors[0].field).toBe(`/${field}`)
  })

  it.each([
    'alice@customer.example\r\nRCPT TO:<evil@evil.example>',
    'alice@customer.example\nBcc: evil@evil.example',
    'alice@customer.example, evil@evil.example',
    'alice@customer.example>',
    '"a\\"@evil.example"@customer.example',
    'alice',
    '+31612345678',
  ])('goes nowhere when it is for %j', async (wrong) => {
    await put(smtp())
    const { status, body } = await test({ to: wrong })
    expect(status).toBe(400)
    expect(body.errors).toMatchObject([{ field: '/to' }])
    const failed = await send({ to: wrong }).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(DeliveryError)
    expect(failed).toMatchObject({ retryable: false })
    expect(String(failed)).not.toContain('evil')
    expect(peer.mails).toEqual([])
  })

  it('in HTML has its values escaped, and a text for who shows none', async () => {
    await ownRealm()
    await put(smtp())
    await server.admin.send('PUT', `${base}/messaging/templates`, {
      templateKey: 'magic-link-email',
      channel: 'EMAIL',
      subject: 'For {{user}}',
      body: '<p>Hello {{user}}</p><p><a href="{{link}}">Sign in</a></p>',
      html: true,
    })
    const link = 'https://id.acme.example/x?a=1&b="2"'
    const user = { username: 'a', firstName: '<img src=x onerror=alert(1)>' }
    await send({ templateKey: 'magic-link-email', user, values: { link } })
    const { headers, body } = partsOf(peer.mails[0]?.raw ?? '')
    expect(headers.get('content-type')).toContain('multipart/alternative')
    const [, text = '', html = ''] = body
      .split(/^--.*$/m)
      .map((part) => part.replaceAll('=\r\n', '').replaceAll('=3D', '='))
    expect(text).toContain('text/plain')
    expect(text).toContain('Hello <img src=x onerror=alert(1)>')
    expect(text).toContain(`Sign in (${link})`)
    expect(html).toContain('text/html')
    expect(html).toContain('Hello &lt;img src=x onerror=alert(1)&gt;')
    expect(html).toContain('href="https://id.acme.example/x?a=1&amp;b=&quot;2&quot;"')
    expect(headers.get('subject')).toContain('<img src=x')
  })

  it('is in the language of the user, else of the realm, else in English', async () => {
    await ownRealm()
    await put(smtp())
    const subjects = async (more: object): Promise<string | undefined> => {
      peer.mails.length = 0
      await send(more)
      return partsOf(peer.mails[0]?.raw ?? '').headers.get('subject')
    }
    const spoken = (locale: string) => ({
      user: { username: 'a', attributes: { locale: [locale] } },
    })
    expect(await subjects(spoken('nl-BE'))).toBe(`Uw code voor ${realm()}`)
    expect(await subjects(spoken('xx'))).toBe(`Your code for ${realm()}`)
    await server.admin.send('PUT', `${base}/settings`, { defaultLocale: 'es' })
    expect(await subjects(spoken('xx'))).toMatch(/^=\?UTF-8\?Q\?Su_c/)
    expect(await subjects({ ...spoken('nl'), locale: 'en' })).toBe(`Your code for ${realm()}`)
    await server.admin.send('PUT', `${base}/messaging/templates`, {
      templateKey: 'otp-email',
      channel: 'EMAIL',
      locale: 'nl',
      subject: 'Onze eigen {{code}}',
      body: 'x',
    })
    expect(await subjects(spoken('nl'))).toBe('Onze eigen 123456')
    await server.admin.send('PUT', `${base}/settings`, {
      defaultLocale: null,
      supportedLocales: ['en', 'de'],
    })
    expect(await subjects(spoken('nl'))).toBe(`Your code for ${realm()}`)
  })
})

describe('testing a provider', () => {
  it('is audited without the recipient, and cannot be used to write to many', async () => {
    await ownRealm()
    const statuses: number[] = []
    for (let i = 0; i < 11; i += 1) statuses.push((await test()).status)
    expect(statuses).toEqual([...Array(10).fill(200), 429])
    expect((await test()).headers['retry-after']).toBeDefined()
    const events = await server.admin.send('GET', `${base}/events?type=ADMIN_ACTION`)
    expect(events.body.total).toBe(10)
    expect(events.body.items[0]).toMatchObject({
      resourceId: 'EMAIL',
      outcome: 'FAILURE',
      detail: 'the realm has no messaging provider for EMAIL',
    })
    expect(JSON.stringify(events.body)).not.toContain('alice')
  })

  it('is for channels that exist', async () => {
    const path = `${base}/messaging/providers/FAX/test`
    expect((await server.admin.send('POST', path, { to })).status).toBe(404)
  })
})
