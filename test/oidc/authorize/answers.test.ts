/** How the answer of the authorization endpoint travels to the client: in the query, the fragment, a form or a JWT. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  type Asked,
  actionOf,
  addPerson,
  answerOf,
  authorizeUrl,
  exchange,
  hiddenFields,
  newPerson,
  redirectUri,
} from '../relying-party.ts'

describe.each(backends)('the answer of the authorization endpoint on $name', (backend) => {
  let site: OidcSite
  let client: TestClient

  beforeAll(async () => {
    site = await openIssuer(backend)
    client = await site.client({
      clientId: 'web',
      name: 'The <Web> App',
      grantTypes: ['authorization_code'],
      redirectUris: [redirectUri],
    })
    await addPerson(site, 'alice')
  }, 60_000)
  afterAll(() => site.close())

  it.each([
    'token',
    'id_token',
    'id_token token',
    'code token',
    'code id_token',
    'code id_token token',
  ])(
    'refuses response_type=%s in the fragment, where its client looks for the error (OIDC Core §3.2.2.6)',
    async (response_type) => {
      const opened = async (asked: Asked) =>
        new URL((await newPerson(site).open(authorizeUrl(site, client, asked))).away ?? '')
      const error = 'unsupported_response_type'
      const { search, hash } = await opened({ response_type })
      expect([search, Object.fromEntries(new URLSearchParams(hash.slice(1)))]).toEqual([
        '',
        expect.objectContaining({ error, state: 'a state', iss: site.issuer }),
      ])
      const early = await opened({ response_type, request: 'eyJhbGciOiJub25lIn0.e30.' })
      expect([early.search, early.hash]).toEqual([
        '',
        expect.stringMatching(/^#error=invalid_request_object&/),
      ])
      const signed = await opened({ response_type, response_mode: 'jwt' })
      expect([signed.search, signed.hash]).toEqual(['', expect.stringMatching(/^#response=eyJ/)])
      const asked = await opened({ response_type, response_mode: 'query' })
      expect([asked.searchParams.get('error'), asked.hash]).toEqual([error, ''])
    },
  )

  it.each([
    ['a request_uri elsewhere', { request_uri: 'https://app.example/r' }],
    [
      'a pushed request that is not there',
      { request_uri: 'urn:ietf:params:oauth:request_uri:none' },
    ],
    ['an unsigned request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }],
  ])('answers %s in the way that was asked for', async (_name, asked) => {
    const opened = (response_mode: string) =>
      newPerson(site).open(authorizeUrl(site, client, { ...asked, response_mode }))
    const fragment = new URL((await opened('fragment')).away ?? '')
    expect(fragment.search).toBe('')
    expect(new URLSearchParams(fragment.hash.slice(1)).get('state')).toBe('a state')
    const posted = await opened('form_post')
    expect([posted.status, actionOf(posted.body)]).toEqual([200, redirectUri])
    expect(hiddenFields(posted.body)).toMatchObject({ state: 'a state', iss: site.issuer })
    const signed = answerOf(await opened('jwt'))
    expect(Object.keys(signed)).toEqual(['response'])
  })

  it('sends the answer as a form that works without scripts, under a policy that allows none inline', async () => {
    const state = '"><script>alert(1)</script>'
    const page = await newPerson(site).signIn(
      authorizeUrl(site, client, { response_mode: 'form_post', state }),
    )
    expect(page.status).toBe(200)
    expect(actionOf(page.body)).toBe(redirectUri)
    const fields = hiddenFields(page.body)
    expect(fields).toMatchObject({ state, iss: site.issuer })
    expect((await exchange(site, client, String(fields['code']))).status).toBe(200)
    expect(page.body).toContain('<button type="submit">')
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self';")
    expect(page.headers.get('content-security-policy')).not.toContain('unsafe-inline')
    expect(page.headers.get('cache-control')).toBe('no-store')
    // Not a module: the browser that the certification suite drives runs none.
    const [, script] = /<script src="([^"]+)" defer>/.exec(page.body) ?? []
    const answer = await fetch(new URL(script ?? '', site.server.baseUrl))
    expect(answer.headers.get('content-type')).toContain('text/javascript')
  })

  it('sends the answer in the fragment where asked to', async () => {
    const page = await newPerson(site).signIn(
      authorizeUrl(site, client, { response_mode: 'fragment' }),
    )
    expect(page.away?.startsWith(`${redirectUri}#code=`)).toBe(true)
  })
})
