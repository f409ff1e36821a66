/**
 * Malformed requests to every route outside the admin API, with the credentials that the route takes: the server answers
 * with an error of its surface, and neither fails nor shows a stack or the secret that was sent.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listRoutes, type PrintedRoute } from '#server/admin/print-routes.ts'
import { csrfBinding } from '#server/sessions/sessions.ts'
import { basic, type OidcSite, openIssuer, type TestClient } from '../../oidc/fixture.ts'
import { accessTokenOf, addUser, issueGrant, openSession } from '../../oidc/users.ts'
import { anyBackend } from '../../support/backends.ts'
import { isFull } from '../../support/run/chance.ts'

type Headers = Readonly<Record<string, string>>

const canary = 'canary-of-a-secret'
const form = 'application/x-www-form-urlencoded'

/** Parameters of more than one surface; a route takes some, and meets the others as unknown ones. */
const names =
  '_csrf acr_values ack actor_token amount assertion attributes binding_message claims client_assertion client_id client_secret code code_challenge currentPassword data decision delivery device_code email emails events_requested filter firstName format grant_type id_token_hint jwks label login_hint max_age members name newPassword nonce Operations password payload permissions policy prompt publicKey redirect_uri redirect_uris refresh_token RelayState request request_uri requested_expiry resource resource_id resource_scopes response response_mode response_type SAMLart SAMLRequest SAMLResponse SigAlg Signature schemas scope scopes startIndex state status step stream_id subject subject_token ticket token ui_locales uris userName username user_code'.split(
    ' ',
  )

/** Pages show other fields again, in the form to correct them. */
const secretNames = new Set(
  'assertion client_assertion client_secret code currentPassword device_code newPassword password refresh_token subject_token ticket token'.split(
    ' ',
  ),
)
const filled = <T>(value: T): Record<string, T | string> =>
  Object.fromEntries(
    names.map((name) => [name, value === canary && !secretNames.has(name) ? 'x' : value]),
  )

const segments = ['%00', '%ff', '..%2f..%2f', '%252e%252e', '__proto__', 'x'.repeat(1500), '-1']
const texts = ['', '\u0000', '-1', '1e309', '{"a":', 'eyJhbGciOiJub25lIn0.bnVsbA.', canary]
const values: readonly unknown[] = [
  null,
  true,
  -1,
  1e21,
  1.5,
  '',
  '\u0000',
  '\ud800',
  [],
  [null],
  [[{}]],
  {},
  { toString: 1 },
  { constructor: { prototype: 1 } },
  canary,
]
const bodies: readonly (readonly [string, string | Buffer])[] = [
  ['application/json', '{'],
  ['application/json', '['.repeat(10_000)],
  ['application/json', '{"a":1,"a":2}'],
  ['application/json', '{"__proto__":{}}'],
  ['application/json', Buffer.from([0x7b, 0xff, 0x7d])],
  [form, Buffer.from([0xff, 0x3d, 0xc3, 0x28])],
  [form, '__proto__=1&constructor=2&%=%'],
  [`${form}; charset=utf-16`, 'a=b'],
  ['multipart/form-data', 'a'],
  ['text/xml', '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
  ['garbage', 'a'],
]

describe.each(anyBackend)('every route on $name', (backend) => {
  let site: OidcSite
  let client: TestClient
  let routes: readonly PrintedRoute[]
  let credentials: Readonly<Record<string, Headers>>

  beforeAll(async () => {
    site = await openIssuer(backend)
    await site.admin('PUT', '/provisioning', {
      scimEnabled: true,
      dcrEnabled: true,
      anonymousAllowed: true,
    })
    for (const name of ['ssf.manage', 'ssf.read'])
      await site.admin('POST', '/client-scopes', { name })
    client = await site.client({
      clientId: 'every',
      grantTypes: ['authorization_code', 'client_credentials', 'device', 'CIBA', 'uma-ticket'],
      redirectUris: ['https://app.example/cb'],
      scopes: ['account', 'ssf.manage', 'ssf.read'],
      serviceAccountsEnabled: true,
      authorizationServicesEnabled: true,
    })
    const ann = await addUser(site, { username: 'ann' })
    const { session, cookie } = await openSession(site, ann)
    const scope = ['openid', 'account']
    const { grant } = await issueGrant(site, client, ann, { scope })
    const { body: sender } = await site.admin('POST', '/provisioning/scim-tokens', {})
    const csrf = site.server.areas.http.csrf.tokenFor(csrfBinding(session))
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    credentials = {
      anonymous: {},
      client: basic(client.clientId, client.secret),
      session: { cookie, 'x-xsrf-token': csrf },
      service: bearer(await site.token(client, { scope: 'ssf.manage' })),
      user: bearer(await accessTokenOf(site, client, ann, grant, scope)),
      sender: bearer(sender.token),
    }
    routes = (await listRoutes()).filter(
      ({ path, method }) => !path.startsWith('/admin/') && method !== 'OPTIONS',
    )
  }, 60_000)
  afterAll(() => site.close())

  const isWrite = ({ method }: PrintedRoute): boolean => method !== 'GET'
  const credentialsFor = (route: PrintedRoute): readonly string[] => {
    const { permission } = route
    if (permission === 'scim-token') return ['sender']
    if (permission === 'session,account-token') return ['session', 'user']
    if (permission === 'token') return ['service', 'user']
    if (permission !== 'anonymous') return ['session']
    return isWrite(route) ? ['anonymous', 'client'] : ['anonymous']
  }
  const addressOf = ({ path }: PrintedRoute, segment = 'unknown', realm = 'acme'): string =>
    path.replace(':realm', realm).replace(/:\w+|\*/g, segment)

  /** Sends a request, and answers what is wrong with the reply. */
  const faultOf = async (
    method: string,
    url: string,
    headers: Headers,
    payload?: string | Buffer,
  ): Promise<string | undefined> => {
    const {
      statusCode,
      body,
      headers: answered,
    } = await site.server.app.inject({
      method: method as 'GET',
      url,
      headers: { accept: 'text/html, application/json', ...headers },
      ...(payload === undefined ? {} : { payload }),
    })
    const type = String(answered['content-type'])
    const is = (fault: string) =>
      `${method} ${url.slice(0, 100)} ${String(payload ?? '').slice(0, 60)}: ${fault}`
    if (statusCode >= 500) return is(`${statusCode} ${body.slice(0, 200)}`)
    if (/\n {4}at |node_modules|\.ts:\d/.test(body)) return is('a stack')
    if (statusCode >= 400 && body.includes(canary)) return is('the secret')
    if (statusCode >= 400 && method !== 'HEAD' && !/json|html|xml/.test(type))
      return is(`${statusCode} of type ${type}`)
    return undefined
  }
  /** Sends what `make` gives for every route, with each of its credentials in turn; with all of them in CI. */
  const faults = async (
    make: (
      route: PrintedRoute,
      headers: Headers,
    ) => readonly (readonly [string, string, Headers?, (string | Buffer)?])[],
  ): Promise<string[]> => {
    const found: string[] = []
    let count = 0
    for (const route of routes)
      for (const [turn, name] of credentialsFor(route).entries()) {
        const headers = credentials[name] ?? {}
        const sent = make(route, headers).filter(
          (_, index) => isFull || index % credentialsFor(route).length === turn,
        )
        count += sent.length
        // At once: some refusals take a second.
        const faults = await Promise.all(
          sent.map(([method, url, more = {}, payload]) =>
            faultOf(method, url, { ...headers, ...more }, payload),
          ),
        )
        for (const fault of faults) if (fault !== undefined) found.push(`${name}: ${fault}`)
      }
    expect(count).toBeGreaterThan(routes.length)
    return found
  }
  const methodOf = ({ method }: PrintedRoute): string => method.split(',').at(-1) ?? method

  it('answers an error for a realm that does not exist', async () => {
    const found = await faults((route) =>
      ['unknown', '__proto__', '%00'].map((realm) => [
        methodOf(route),
        addressOf(route, 'unknown', realm),
      ]),
    )
    expect(found).toEqual([])
  }, 120_000)

  it('answers an error for other methods and for junk in the path', async () => {
    const found = await faults((route) => [
      ...['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND'].map(
        (method) => [method, addressOf(route)] as const,
      ),
      ...(/:(?!realm)|\*/.test(route.path) ? segments : []).map(
        (segment) => [methodOf(route), addressOf(route, segment)] as const,
      ),
    ])
    expect(found).toEqual([])
  }, 120_000)

  it('answers an error for junk in the query', async () => {
    const found = await faults((route) =>
      isWrite(route)
        ? []
        : [
            ...texts.map(
              (text) =>
                ['GET', `${addressOf(route)}?${new URLSearchParams(filled(text))}`] as const,
            ),
            ...['%ff=%ff', 'a=1&a=2', 'a[]=1&a[b]=2', '__proto__[x]=1', '&=&'].map(
              (query) => ['GET', `${addressOf(route)}?${query}`] as const,
            ),
          ],
    )
    expect(found).toEqual([])
  }, 120_000)

  it('answers an error for bodies that are none, or of another type', async () => {
    const found = await faults((route) =>
      isWrite(route)
        ? bodies.map(([type, body]) => [
            methodOf(route),
            addressOf(route),
            { 'content-type': type },
            body,
          ])
        : [],
    )
    expect(found).toEqual([])
  }, 120_000)

  it('answers an error for junk in the fields of a body', async () => {
    const found = await faults((route, headers) => {
      if (!isWrite(route)) return []
      const json = route.path.includes('/scim/') ? 'application/scim+json' : 'application/json'
      const _csrf = headers['x-xsrf-token'] ?? ''
      return [
        ...values.map(
          (value) =>
            [
              methodOf(route),
              addressOf(route),
              { 'content-type': json },
              JSON.stringify(filled(value)),
            ] as const,
        ),
        ...texts.map(
          (text) =>
            [
              methodOf(route),
              addressOf(route),
              { 'content-type': form },
              new URLSearchParams({ ...filled(text), _csrf }).toString(),
            ] as const,
        ),
      ]
    })
    expect(found).toEqual([])
  }, 120_000)
})
