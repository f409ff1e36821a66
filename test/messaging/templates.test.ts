/** Templates: allowed placeholders, rendered messages, and the languages that come with the server. */

import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MessageTemplate } from '#schemas/kinds/notifications/message-template.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { placeholderErrors } from '#schemas/text/placeholders.ts'
import { builtInText } from '#server/messaging/built-in.ts'
import { textOfHtml } from '#server/messaging/html-text.ts'
import { openMessaging } from '#server/messaging/sender.ts'
import { render, valuesFor } from '#server/messaging/templates.ts'
import { createLogger } from '#server/platform/logger.ts'
import { backends } from '../support/backends.ts'
import { type Answer, startServer, type TestServer } from '../support/server.ts'

const [backend] = backends
if (!backend) throw new Error('there is no backend')

let server: TestServer
const base = '/admin/realms/acme/messaging/templates'
const put = (template: object): Promise<Answer> => server.admin.send('PUT', base, template)
const preview = (request: object): Promise<Answer> =>
  server.admin.send('POST', `${base}/preview`, request)

beforeAll(async () => {
  server = await startServer(backend)
  await server.createRealm('acme')
})
afterAll(() => server.close())

describe('a template', () => {
  const own = { templateKey: 'own', channel: 'EMAIL', body: 'x' }

  it.each([
    ['/body', { body: 'Your {{cod}}' }, '{{cod}}'],
    ['/body', { body: '{{user.}}' }, '{{user.}}'],
    ['/body', { body: '{{constructor}}' }, '{{constructor}}'],
    ['/body', { body: '{{{code}}}' }, '"{{"'],
    ['/body', { body: '{{code' }, '"{{"'],
    ['/body', { body: '{{user.a b}}' }, '{{user.a b}}'],
    ['/body', { body: '{{= it.process }}' }, '{{= it.process}}'],
    ['/subject', { subject: '{{Code}}' }, '{{Code}}'],
  ])('is refused, with the field %s, for %j', async (field, more, named) => {
    const { status, body } = await put({ ...own, ...more })
    expect(status).toBe(400)
    expect(body.errors).toMatchObject([{ field, code: 'unknown-placeholder' }])
    expect(body.errors[0].message).toContain(named)
  })

  it('has one line of subject, and markup only in mails', async () => {
    const broken = await put({ ...own, subject: 'a\r\nBcc: evil@evil.example' })
    expect(broken.body.errors).toMatchObject([{ field: '/subject', code: 'format' }])
    const sms = await put({ ...own, channel: 'SMS', html: true })
    expect(sms.body.errors).toMatchObject([{ field: '/html' }])
  })

  it('takes every placeholder, with spaces or without', async () => {
    const body = '{{realm}} {{ code }} {{ttl}} {{user}} {{link}} {{user.department}}'
    expect((await put({ ...own, body })).status).toBeLessThan(300)
  })
})

describe('a preview', () => {
  it('renders subject and body with the samples; what has none stays', async () => {
    const { status, body } = await preview({
      templateKey: 'otp-email',
      sample: { code: '123456', user: 'Alice' },
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      subject: 'Your code for acme',
      body: 'Hello Alice,\n\nyour code is 123456. It is valid for {{ttl}} minutes.\n',
    })
    expect((await preview({ templateKey: 'otp-sms' })).body.subject).toBeNull()
  })

  it('puts values in once, whatever they hold', async () => {
    const user = '{{code}} $& $1 <%= 1 %> {{user.x}}'
    const { body } = await preview({
      templateKey: 'otp-email',
      sample: { user, code: '123456', ttl: '5' },
    })
    expect(body.body).toContain(`Hello ${user},`)
  })

  it('escapes values in HTML and keeps what the template says', async () => {
    await put({
      templateKey: 'page',
      channel: 'EMAIL',
      subject: '{{user}}',
      body: '<p title="{{user.note}}">{{user}}</p>',
      html: true,
    })
    const { body } = await preview({
      templateKey: 'page',
      sample: { user: '<b>&</b>', 'user.note': '"><script>' },
    })
    expect(body).toEqual({
      subject: '<b>&</b>',
      body: '<p title="&quot;&gt;&lt;script&gt;">&lt;b&gt;&amp;&lt;/b&gt;</p>',
    })
  })

  it('is of the language that is asked for, the own text before that of the server', async () => {
    const subject = async (locale: string): Promise<string> =>
      (await preview({ templateKey: 'verify-email', locale })).body.subject
    expect(await subject('de')).toBe('Bestätigen Sie Ihre Adresse für acme')
    expect(await subject('de-AT')).toBe('Bestätigen Sie Ihre Adresse für acme')
    expect(await subject('xx')).toBe('Confirm your address for acme')
    const own = { templateKey: 'verify-email', channel: 'EMAIL', locale: 'de', body: 'x' }
    await put({ ...own, subject: 'Eigener Betreff' })
    expect(await subject('de')).toBe('Eigener Betreff')
  })

  it('refuses samples for what is no placeholder, and knows no other template', async () => {
    const strange = await preview({ templateKey: 'otp-sms', sample: { cod: '1' } })
    expect(strange.status).toBe(400)
    expect(strange.body.errors).toMatchObject([{ field: '/sample', code: 'unknown-placeholder' }])
    expect((await preview({ templateKey: 'nothing' })).status).toBe(404)
    expect((await preview({ templateKey: 'otp-sms', channel: 'EMAIL' })).status).toBe(404)
    const proto = await preview({ templateKey: '__proto__', channel: 'SMS' })
    expect(proto.status).toBe(404)
  })

  it('changes nothing, and who may only plan may look', async () => {
    const before = await server.admin.send('GET', base)
    await preview({ templateKey: 'otp-sms' })
    expect((await server.admin.send('GET', base)).body).toEqual(before.body)
    const other = await server.userWith('acme', ['view-users', 'manage-clients'])
    const request = { templateKey: 'otp-sms' }
    expect((await other.send('POST', `${base}/preview`, request)).status).toBe(403)
  })
})

describe('a message to a person', () => {
  const written = (
    templateKey: string,
    locale: string,
    user: Parameters<typeof valuesFor>[1],
    values: Record<string, string> = {},
  ) => {
    const text = builtInText(templateKey, 'EMAIL', locale)
    if (!text) throw new Error(`no ${templateKey}`)
    const meaning = valuesFor('acme', user, values)
    return render({ html: false, enabled: true, locale, ...text }, meaning).text
  }
  const first = (text: string): string => text.split('\n')[0] ?? ''

  it.each([
    ['en', 'Hello,'],
    ['de', 'Guten Tag,'],
    ['fr', 'Bonjour,'],
    ['es', 'Hola:'],
    ['nl', 'Hallo,'],
  ])('without a name has a greeting without one: %s', (locale, greeting) => {
    expect(first(written('invitation', locale, undefined))).toBe(greeting)
  })

  it('without a name is rendered in a moment, however many blanks its template has', {
    timeout: 20_000,
  }, () => {
    const blanks = '\t'.repeat(99_000)
    const text = { html: false, enabled: true, locale: 'en', subject: 'x' }
    const body = `Hello, {{user}}!${blanks}for {{ user }}`
    expect(render({ ...text, body }, valuesFor('acme', undefined, {})).text).toBe(
      `Hello!${blanks}for`,
    )
  })

  it.each([
    ['win a phone: http://evil.example/x', 'mallory'],
    ['www.evil', 'mallory'],
    ['evil.example', 'mallory'],
    ['Anna M. Weiß', 'Anna M. Weiß'],
  ])('has no link of another person for a name: %s', (firstName, shown) => {
    const user = { username: 'mallory', firstName }
    expect(first(written('verify-email', 'en', user))).toBe(`Hello ${shown},`)
    const named = { username: '//evil.example', firstName }
    if (shown === 'mallory') expect(first(written('verify-email', 'en', named))).toBe('Hello,')
  })

  it('has no lines of another person', () => {
    const user = { username: 'mallory', firstName: 'you,\r\n\r\nyour account is closed' }
    expect(first(written('verify-email', 'en', user))).toBe('Hello you, your account is closed,')
    const turned = { username: 'mallory', firstName: 'Al\u202eice' }
    expect(first(written('verify-email', 'en', turned))).toBe('Hello Alice,')
    const device = 'Firefox\n\nAll is well'
    expect(written('new-device', 'en', user, { device })).toContain('Device: Firefox All is well\n')
  })

  it.each([
    ['en', 'Nov 14, 2023, 10:13 PM UTC', 'for 1 minute.', 'for 15 minutes.'],
    ['de', '14.11.2023, 22:13 UTC', 'für 1 Minute gesperrt', 'für 15 Minuten gesperrt'],
    ['es', '14 nov 2023, 22:13 UTC', 'durante 1 minuto.', 'durante 15 minutos.'],
    ['fr', '14 nov. 2023, 22:13 UTC', 'pendant 1 minute.', 'pendant 15 minutes.'],
    ['nl', '14 nov 2023, 22:13 UTC', 'is 1 minuut geblokkeerd', 'is 15 minuten geblokkeerd'],
  ])('tells times and durations as people write them: %s', (locale, time, one, many) => {
    const user = { username: 'alice' }
    const at = { time: '2023-11-14T22:13:20.000Z' }
    expect(written('new-device', locale, user, at)).toContain(time)
    expect(written('account-locked', locale, user, { ttl: '1' })).toContain(one)
    expect(written('account-locked', locale, user, { ttl: '15' })).toContain(many)
  })

  it('is sent in the dates of the language where the tag of a template is none', () => {
    const template = { html: false, enabled: true, locale: 'de-12', subject: '', body: '{{time}}' }
    const meaning = valuesFor('acme', undefined, { time: '2023-11-14T22:13:20.000Z' })
    expect(render(template, meaning).text).toBe('14.11.2023, 22:13 UTC')
  })
})

describe('the texts that come with the server', () => {
  const english = seeds
    .filter(({ kind }) => kind === MessageTemplate)
    .map(
      ({ doc }) => doc as { templateKey: string; channel: 'EMAIL'; subject?: string; body: string },
    )
  const marks = (text = ''): string[] => (text.match(/\{\{[^}]*\}\}/g) ?? []).sort()

  it('are those of every realm, and no other document', async () => {
    const { body } = await server.admin.send('GET', '/admin/realms/master/messaging/templates')
    const keys = body.map(({ templateKey, locale }: Record<string, string>) => [
      templateKey,
      locale,
    ])
    expect(keys.sort()).toEqual(english.map(({ templateKey }) => [templateKey, 'en']).sort())
  })

  it.each(['nl', 'de', 'fr', 'es'])('say the same in %s as in English', (locale) => {
    for (const { templateKey, channel, subject, body } of english) {
      const text = builtInText(templateKey, channel, locale)
      expect(marks(text?.body), templateKey).toEqual(marks(body))
      expect(marks(text?.subject), templateKey).toEqual(marks(subject))
      expect(text?.body).not.toBe(body)
      expect(placeholderErrors('/body', `${text?.subject} ${text?.body}`)).toEqual([])
    }
  })

  it('are all the files of the folder', () => {
    const files = readdirSync(new URL('../../templates/messages', import.meta.url)).sort()
    expect(files).toEqual(['de.json', 'en.json', 'es.json', 'fr.json', 'nl.json'])
  })
})

describe('a server that writes messages to its log', () => {
  const write = async () => {
    const lines: string[] = []
    const { areas } = server
    const messaging = openMessaging({
      clock: areas.given.clock,
      outgoing: areas.platform.outgoing,
      logger: createLogger({ destination: { write: (line) => void lines.push(line) } }),
      reveal: areas.secrets.vault.reveal,
      logMessages: true,
    })
    const view = await areas.copy.fresh('acme')
    if (!view) throw new Error('no realm')
    const to = 'alice@customer.example'
    const values = { code: '123456', ttl: '5' }
    const delivery = { view, templateKey: 'otp-email', channel: 'EMAIL', to, values } as const
    return {
      ready: await messaging.ready(view, { channel: 'EMAIL' }),
      outcome: await messaging.send(delivery),
      lines,
    }
  }

  it('does so where no provider is enabled, and nowhere else', async () => {
    const { ready, outcome, lines } = await write()
    expect(ready).toEqual({ ready: true })
    expect(outcome).toMatchObject({ status: 'sent', driver: 'log' })
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        kind: 'message',
        realm: 'acme',
        channel: 'EMAIL',
        to: 'alice@customer.example',
        subject: 'Your code for acme',
        text: expect.stringContaining('123456'),
      },
    ])
    const provider = {
      channel: 'EMAIL',
      driver: 'smtp',
      config: { host: 'mail.example', port: 25 },
    }
    const put = (enabled: boolean): Promise<Answer> =>
      server.admin.send('PUT', '/admin/realms/acme/messaging/providers', { ...provider, enabled })
    await put(false)
    expect((await write()).outcome).toMatchObject({ driver: 'log' })
    await put(true)
    const reason = 'EMAIL/smtp has no fromAddress'
    expect(await write()).toEqual({
      ready: { ready: false, reason },
      outcome: { status: 'inert', reason },
      lines: [],
    })
  })
})

describe('the text of a mail in HTML', () => {
  it.each([
    ['<p>One</p><p>Two<br>Three</p>', 'One\n\nTwo\nThree\n'],
    ['<a href="https://a.example/?x=1&amp;y=2">Go</a>', 'Go (https://a.example/?x=1&y=2)\n'],
    ['<a href=https://a.example>https://a.example</a>', 'https://a.example\n'],
    ["<A HREF='https://a.example'><b>Go</b></A>!", 'Go (https://a.example)!\n'],
    ['<head><title>t</title></head><style>a{b:c}</style><script>x()</script>Text', 'Text\n'],
    ['<!DOCTYPE html><!-- hidden -->Text &amp; &lt;more&gt; &#39;&#x41;', "Text & <more> 'A\n"],
    ['&nope; &#99999999;', '&nope; &#99999999;\n'],
    ['<ul><li>a</li><li>b</li></ul>', 'a\n\nb\n'],
    ['a < b', 'a < b\n'],
  ])('of %j is %j', (html, text) => {
    expect(textOfHtml(html)).toBe(text)
  })

  it('is found whatever it looks like', () => {
    for (const nasty of ['<', '<a', '<a href=', '<!--', '&#', '<p>', '<style>', '< ', '<b> '])
      expect(textOfHtml(nasty.repeat(20_000)).length).toBeGreaterThan(0)
  })
})
