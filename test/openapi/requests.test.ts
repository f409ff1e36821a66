/** What the API description adds to schemas of requests for readers that know none of our formats. */

import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '#schemas/json-schema.ts'
import { formats } from '#schemas/text/formats.ts'
import { emailErrors } from '#schemas/text/names.ts'
import { asRequested } from '#server/admin/openapi/request-schemas.ts'

const uuid = '00000000-0000-7000-8000-000000000000'
const urls = [
  'https://a.example',
  'https://a.example:8443/b?c=d',
  'https://10.0.0.1/',
  'https://[fd00::1]/x',
]
const noUrls = ['', 'a', '//a.example', 'ftp://a.example', 'https://']

const values: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  name: [
    ['a', 'a b', '/Staff/Help', 'é.'],
    ['', ' a', 'a\n', '..', '/a/../b', uuid],
  ],
  segment: [
    ['a', '.a', 'a\\b'],
    ['', 'a/b', 'a ', '.', 'a\\..', uuid],
  ],
  line: [['', 'a b'], ['a\nb']],
  'realm-name': [
    ['a-1', 'A_b.c'],
    ['', '-a', '.a', 'a b', 'ä'],
  ],
  'web-url': [['http://a.example#b', ...urls], noUrls],
  'https-url': [urls, ['http://a.example', ...noUrls]],
  'logo-url': [
    ['data:image/png;base64,AAAA', ...urls],
    ['data:text/html,a', ...noUrls],
  ],
  'logout-url': [urls, ['https://a.example#b', ...noUrls]],
  'resource-indicator': [urls, ['https://a.example#b', ...noUrls]],
  'resource-uri': [['/a/*', ...urls], noUrls.filter((one) => !one.startsWith('/'))],
  'redirect-uri': [
    ['com.example.app:/cb', ...urls],
    ['javascript:alert(1)', 'https://a.example/*', '', 'a'],
  ],
  'saml-endpoint': [urls, ['https://a.example/é', ...noUrls]],
  'saml-binding': [['HTTP-POST'], ['POST']],
  'name-id-format': [['email', 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'], ['x']],
  'ldap-urls': [
    ['ldaps://a.example', 'ldap://a:389 ldap://b/'],
    ['ldap://', 'https://a', 'ldap://a/dc=b'],
  ],
  'sync-interval': [
    ['5m', '1h', '90d'],
    ['4m', '0h', '1w'],
  ],
  origin: [
    ['https://a.example', 'http://localhost:3000'],
    ['https://a.example/', 'https://A.example'],
  ],
  host: [
    ['a.example', '10.0.0.1', 'fd00::1'],
    ['', 'a:1', 'a/b'],
  ],
  'host-pattern': [['*.a.example'], ['*', 'a/b']],
  'relying-party': [
    ['a.example', 'localhost'],
    ['https://a.example', 'a.example:8443'],
  ],
  'mail-domain': [['a.example'], ['a', 'a_b.example']],
  color: [
    ['#0a5', '#00AA55'],
    ['0a5', '#0a'],
  ],
  'event-types': [
    ['*', 'LOGIN_SUCCESS, ADMIN_*'],
    ['', 'x', 'LOGIN_SUCCESS,'],
  ],
  username: [
    ['ann', 'é@b'],
    ['', 'a b', uuid],
  ],
  'time-span': [
    ['12h', '4w'],
    ['0d', '1m'],
  ],
  'otp-secret': [['ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'], ['A', '1'.repeat(32)]],
}

const patternOf = (format: string): RegExp => {
  const { pattern } = asRequested({ type: 'string', format }) as JsonSchema
  return new RegExp(String(pattern), 'u')
}

describe('the pattern beside a format', () => {
  it.each(Object.entries(values))('%s tells what the server takes', (format, [taken, refused]) => {
    const pattern = patternOf(format)
    const isTaken = formats[format]?.test ?? (() => false)
    for (const value of taken)
      expect([value, isTaken(value), pattern.test(value)]).toEqual([value, true, true])
    // A length of its own says that a name is not empty.
    for (const value of refused)
      expect([value, isTaken(value) && value !== '', pattern.test(value)]).toEqual([
        value,
        false,
        false,
      ])
  })

  it('tells email addresses', () => {
    for (const value of ['a@b', 'a.b+c@d.example', '', 'a', 'a@', 'a b@c.example', '"a"@b.example'])
      expect([value, patternOf('email').test(value)]).toEqual([
        value,
        emailErrors(value).length === 0,
      ])
  })
})

it('a schema of a request has what its handler checks', () => {
  const schema = { properties: { kind: { type: 'string', 'x-described': { enum: ['a'] } } } }
  expect(asRequested(schema)).toEqual({ properties: { kind: { type: 'string', enum: ['a'] } } })
})
