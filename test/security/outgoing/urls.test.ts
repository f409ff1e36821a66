/** Fields for addresses refuse URLs that a browser or the server must not follow. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAjv } from '#schemas/ajv.ts'
import type { JsonSchema } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { kinds } from '#schemas/registry.ts'
import { formats } from '#schemas/text/formats.ts'
import { bodyView } from '#schemas/views.ts'
import { emailErrors, foldName, usernameErrors } from '#server/users/names.ts'
import { anyBackend } from '../../support/backends.ts'
import { leastBody } from '../../support/samples.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { createWorld, type World } from '../admin-api/world.ts'

const urlFormats = new Set([
  'web-url',
  'https-url',
  'logo-url',
  'redirect-uri',
  'saml-endpoint',
  'resource-indicator',
  'logout-url',
  'resource-uri',
  'origin',
  'ldap-urls',
])

interface UrlField {
  readonly kind: Kind
  /** Names down to the field; `*` is an item of a list. */
  readonly place: readonly string[]
  readonly format: string | undefined
}

/** Every text in a schema that has a format for addresses or a name that promises one. */
const urlFieldsIn = (kind: Kind, schema: JsonSchema, place: readonly string[]): UrlField[] => {
  const named = /(ur[il]s?|origins?|endpoint)$/i.test(
    place.filter((one) => one !== '*').at(-1) ?? '',
  )
  const own =
    [schema.type].flat().includes('string') && (named || urlFormats.has(schema.format ?? ''))
      ? [{ kind, place, format: schema.format }]
      : []
  return [
    ...own,
    ...(schema.items ? urlFieldsIn(kind, schema.items, [...place, '*']) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
      urlFieldsIn(kind, inner, [...place, name]),
    ),
  ]
}

const urlFields = kinds.flatMap((kind) => urlFieldsIn(kind, bodyView(kind), []))

const valueAt = (place: readonly string[], value: string): unknown => {
  const [first, ...rest] = place
  if (first === undefined) return value
  return first === '*' ? [valueAt(rest, value)] : { [first]: valueAt(rest, value) }
}

/** Schemes that load or run by themselves are refused, in every case and encoding. */
const scripts = [
  'javascript:alert(1)',
  'JavaScript:alert(1)',
  'JAVASCRIPT://x.example/%0aalert(1)',
  ' javascript:alert(1)',
  '\u0001javascript:alert(1)',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'DATA:text/html;base64,PHNjcmlwdD4=',
  'vbscript:msgbox(1)',
  'file:///etc/passwd',
  'blob:https://x.example/1',
  'about:blank',
]

describe('every field for an address', () => {
  it('has a format that says what it may hold', () => {
    expect(urlFields.length).toBeGreaterThan(8)
    for (const { kind, place, format } of urlFields)
      expect(urlFormats, `${kind.kind} ${place.join('/')}`).toContain(format)
  })

  it('refuses nothing, half an address and one that needs another to be read', () => {
    for (const format of [...urlFormats].filter((one) => one !== 'resource-uri'))
      for (const value of [
        '',
        'x',
        '/path',
        '//host.example',
        'host.example',
        '?q',
        '#f',
        'https:',
        'http://',
      ])
        expect(formats[format]?.test(value) ?? false, `${format} ${value}`).toBe(false)
  })
})

describe.each(anyBackend)('addresses on $name', (backend) => {
  let server: TestServer
  let world: World
  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    world = createWorld(server)
  })
  afterAll(() => server.close())

  it('that run a script are refused in every field of every kind (CVE-2026-9086)', async () => {
    const wrong: string[] = []
    for (const { kind, place } of urlFields) {
      if (kind.path === null) continue
      const url = await world.collection('acme', kind)
      const method = ['upsert', 'singleton'].includes(kind.shape) ? 'PUT' : 'POST'
      const pointer = `/${place.map((name) => (name === '*' ? '0' : name)).join('/')}`
      for (const script of scripts) {
        const given = valueAt(place, script) as Record<string, unknown>
        const answer = await server.admin.send(method, url, { ...leastBody(kind), ...given })
        const named = answer.body.errors?.some(
          (error: { field: string }) => error.field === pointer,
        )
        if (answer.status !== 400 || !named)
          wrong.push(
            `${kind.kind} ${pointer} ${script}: ${answer.status} ${JSON.stringify(answer.body)}`,
          )
      }
    }
    expect(wrong).toEqual([])
  })

  it('to be led back to are kept byte for byte', async () => {
    const redirectUris = [
      'https://app.example/cb',
      'https://app.example:8443/cb?tenant=1&x=%2e%2e',
      'https://app.example/a/%2E%2e/cb',
      'https://app.example/cb;v=1',
      'https://APP.example/CB',
      'https://app.example',
      'https://app.example/',
      'https://xn--bcher-kva.example/cb',
      'https://[2001:db8::1]/cb',
      'http://127.0.0.1/cb',
      'http://127.0.0.1:51004/cb',
      'http://[::1]:51004/cb',
      'http://localhost:3000/cb',
      'com.example.app:/oauth/cb',
      'com.example.app://cb',
    ]
    const made = await server.admin.send('POST', '/admin/realms/acme/clients', {
      clientId: 'exact',
      redirectUris,
      postLogoutRedirectUris: redirectUris,
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { body } = await server.admin.send('GET', '/admin/realms/acme/clients/exact')
    expect(new Set(body.redirectUris)).toEqual(new Set(redirectUris))
    expect(new Set(body.postLogoutRedirectUris)).toEqual(new Set(redirectUris))
  })

  it('to be led back to that two readers would read differently are refused', async () => {
    for (const uri of [
      '*',
      'https://*',
      'https://*.app.example/cb',
      'https://app.example/*',
      'https://app.example/cb#',
      'https://app.example/cb#fragment',
      'https://user@app.example/cb',
      'https://app.example@evil.example/cb',
      'https://app.example:pass@evil.example/cb',
      'https://app.example\\@evil.example/cb',
      'https:\\\\app.example\\cb',
      'https:/app.example/cb',
      'https:app.example/cb',
      'http:///app.example/cb',
      'https://app.example /cb',
      'https://app.example/c b',
      ' https://app.example/cb',
      'https://app.example/cb ',
      'https://app.example/cb\n',
      'https://app.example/c\tb',
      'https://app.example/\u0000',
      'https://bücher.example/cb',
      'https://app.example/ü',
      'https://ａpp.example/cb',
      'https://app。example/cb',
      'https://app.example:99999/cb',
      'https://[::1/cb',
      'https://app.example/cb?code=x',
      'https://app.example/cb?a=1&state=y',
      'https://app.example/cb?a=1&%63ode=y',
      'https://app.example/cb?error=x',
      'https://app.example/cb?iss=x',
      'https://app.example/cb?response=x',
      'urn:ietf:wg:oauth:2.0:oob',
      'intent:#Intent;end',
    ])
      for (const field of ['redirectUris', 'postLogoutRedirectUris']) {
        const body = { clientId: 'bent', [field]: [uri] }
        const answer = await server.admin.send('POST', '/admin/realms/acme/clients', body)
        expect(answer.status, `${field} ${uri}`).toBe(400)
        expect(answer.body.errors[0].field).toBe(`/${field}/0`)
      }
  })

  it('of pages and endpoints for logout have no fragment (OIDC Front-Channel Logout §2, Back-Channel Logout §2.2)', async () => {
    for (const field of ['frontchannelLogoutUri', 'backchannelLogoutUri'])
      for (const uri of ['https://app.example/#/out', 'https://app.example/out?x=1#']) {
        const body = { clientId: 'bent', [field]: uri }
        const answer = await server.admin.send('POST', '/admin/realms/acme/clients', body)
        expect(answer.status, `${field} ${uri}`).toBe(400)
        expect(answer.body.errors[0].field).toBe(`/${field}`)
      }
  })

  it('of allowed origins are origins as a browser sends them', async () => {
    const send = (origin: string) =>
      server.admin.send('POST', '/admin/realms/acme/clients', {
        clientId: `origin-${origin}`.replaceAll(/[^a-z0-9-]/gi, '-'),
        webOrigins: [origin],
      })
    for (const origin of [
      'https://shop.example',
      'http://localhost:3000',
      'https://[2001:db8::1]:8443',
    ])
      expect((await send(origin)).status, origin).toBe(201)
    for (const origin of [
      '*',
      'null',
      'https://*.shop.example',
      'https://shop.example/',
      'https://shop.example/path',
      'https://shop.example?x',
      'https://shop.example:443',
      'HTTPS://shop.example',
      'https://SHOP.example',
      'https://user@shop.example',
      'https://bücher.example',
      'ftp://shop.example',
      'ws://shop.example',
      'shop.example',
      '+',
    ])
      expect((await send(origin)).status, origin).toBe(400)
  })
})

describe('a format', () => {
  const long = 100_000
  /** What makes patterns that go back on their steps take for ever. */
  const corpus = [
    'a'.repeat(long),
    `${'a'.repeat(long)}!`,
    '-'.repeat(long),
    'a-'.repeat(long),
    'a.'.repeat(long),
    '.'.repeat(long),
    '@'.repeat(long),
    `${'a.'.repeat(long)}@`,
    `a@${'a.'.repeat(long)}`,
    `a@${'a-'.repeat(long)}.`,
    ' '.repeat(long),
    `a${' '.repeat(long)}b`,
    `url${' '.repeat(long)}`,
    'url '.repeat(long / 4),
    'expression'.repeat(long / 10),
    'A_*,'.repeat(long / 4),
    `https://${'a.'.repeat(long)}`,
    `https://${'@'.repeat(long)}`,
    `https://a/${'../'.repeat(long / 3)}`,
    `https://a/?${'code'.repeat(long / 4)}`,
    `https://a/?${'a=&'.repeat(long / 3)}`,
    `$argon2id$v=19$m=${'1'.repeat(long)}`,
    `$argon2id$v=19$m=1,t=1,p=1$${'A'.repeat(long)}`,
    `#${'0'.repeat(long)}`,
    `${'0'.repeat(8)}-${'0000-'.repeat(long / 5)}`,
    `2016-12-31T${'0'.repeat(long)}`,
    '(a+)+$'.repeat(long / 6),
    '\u0300'.repeat(long),
    'ﷺ'.repeat(long / 20),
  ]

  it.each(Object.keys(formats))('%s answers whatever it is asked, however long', (name) => {
    for (const text of corpus) expect(formats[name]?.test(text)).toBeTypeOf('boolean')
  })

  it.each(['email', 'uuid', 'date-time', 'hostname', 'regex'])(
    '%s answers whatever it is asked, however long',
    (format) => {
      const validate = createAjv().compile({ type: 'string', format })
      for (const text of corpus) expect(validate(text)).toBeTypeOf('boolean')
    },
  )

  it('of names and addresses of users answers whatever it is asked, however long', () => {
    for (const text of corpus) {
      expect(usernameErrors(text)).toBeInstanceOf(Array)
      expect(emailErrors(text)).toHaveLength(1)
      expect(foldName(text)).toBe(foldName(foldName(text)))
    }
  })
})
