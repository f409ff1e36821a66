/** Consent: requested, remembered, applied, revoked; given only by the user. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  hiddenFields,
  newPerson,
  type Person,
  redirectUri,
} from '../relying-party.ts'

describe.each(backends)('consent on $name', (backend) => {
  let site: OidcSite
  let asking: TestClient
  let trusted: TestClient
  let count = 0

  beforeAll(async () => {
    site = await openIssuer(backend)
    const common = {
      grantTypes: ['authorization_code', 'refresh_token'] as 'authorization_code'[],
      redirectUris: [redirectUri],
      scopes: ['profile', 'email', 'offline_access'],
    }
    asking = await site.client({
      clientId: 'asking',
      name: 'Maps <b>& more</b>',
      consentRequired: true,
      ...common,
    })
    trusted = await site.client({ clientId: 'trusted', ...common })
  }, 60_000)
  afterAll(() => site.close())

  /** A new user without consents. */
  const newcomer = async (): Promise<{ person: Person; id: string; name: string }> => {
    count += 1
    const name = `user${count}`
    const id = await addPerson(site, name)
    const person = newPerson(site)
    await person.signIn(authorizeUrl(site, trusted), name)
    return { person, id, name }
  }
  const url = (scope = 'openid profile', asked = {}) =>
    authorizeUrl(site, asking, { scope, ...asked })
  const consents = () => site.server.areas.oidc.consents

  it('is asked in words before the first code, and not again', async () => {
    const { person, id, name } = await newcomer()
    const page = await person.open(url())
    expect(page.status).toBe(200)
    expect(page.body).toContain('Maps &lt;b&gt;&amp; more&lt;/b&gt;')
    expect(page.body).toContain('Your name and profile')
    expect(page.body).toContain(name)
    expect(page.headers.get('content-security-policy')).toContain(
      "script-src 'self'; require-trusted",
    )
    const answer = await person.submit(page, { decision: 'allow' })
    expect((await exchange(site, asking, codeOf(answer))).body.scope).toBe('openid profile')
    codeOf(await person.open(url()))
    codeOf(await person.open(url('openid', { prompt: 'none' })))
    expect((await site.events('GRANT_CONSENT'))[0]).toMatchObject({
      outcome: 'SUCCESS',
      actor: id,
      detail: 'openid profile',
    })
  })

  it('is asked in the language of the page for the scopes of every realm, unless the realm says otherwise', async () => {
    const { person } = await newcomer()
    const inGerman = () =>
      person.open(url('openid profile email offline_access', { ui_locales: 'de' }))
    const asked = String((await inGerman()).body)
    expect([...asked.matchAll(/<li>([^<]*)<\/li>/g)].map((one) => one[1])).toEqual([
      'Ihre Identität',
      'Ihr Name und Profil',
      'Ihre E-Mail-Adresse',
      'Zugriff, während Sie nicht da sind',
    ])
    await change(site, '/client-scopes/email', { name: 'email', description: 'The mail address' })
    expect((await inGerman()).body).toContain('<li>The mail address</li>')
    await change(site, '/client-scopes/email', { name: 'email', description: 'Your email address' })
  })

  it('is asked again for a scope that is new, and what was allowed stays', async () => {
    const { person, id } = await newcomer()
    await person.submit(await person.open(url()), { decision: 'allow' })
    const more = await person.open(url('openid email'))
    expect(more.body).toContain('Your email address')
    codeOf(await person.submit(more, { decision: 'allow' }))
    codeOf(await person.open(url('openid profile email')))
    expect(await consents().list('acme', id)).toMatchObject([
      { clientId: 'asking', grantedClientScopes: ['openid', 'profile', 'email'] },
    ])
  })

  it('that is refused is access_denied, and nothing is remembered', async () => {
    const { person, id } = await newcomer()
    const answer = answerOf(await person.submit(await person.open(url()), { decision: 'deny' }))
    expect(answer).toMatchObject({ error: 'access_denied', state: 'a state', iss: site.issuer })
    expect(await consents().list('acme', id)).toEqual([])
    expect((await site.events('GRANT_CONSENT'))[0]).toMatchObject({ outcome: 'FAILURE', actor: id })
  })

  it('is remembered for a request without any scope', async () => {
    const { person, id } = await newcomer()
    const silent = url('', { prompt: 'none' })
    expect(answerOf(await person.open(silent))['error']).toBe('consent_required')
    codeOf(await person.submit(await person.open(url('')), { decision: 'allow' }))
    codeOf(await person.open(silent))
    expect(await consents().list('acme', id)).toMatchObject([{ grantedClientScopes: [] }])
  })

  it('cannot be asked silently', async () => {
    const { person } = await newcomer()
    const page = await person.open(url('openid', { prompt: 'none' }))
    expect(answerOf(page)['error']).toBe('consent_required')
  })

  it('is asked of everybody with prompt=consent, also for clients that need none', async () => {
    const { person } = await newcomer()
    codeOf(await person.open(authorizeUrl(site, trusted)))
    for (let time = 0; time < 2; time += 1) {
      const page = await person.open(authorizeUrl(site, trusted, { prompt: 'consent' }))
      expect(page.body).toContain('value="allow"')
      codeOf(await person.submit(page, { decision: 'allow' }))
    }
  })

  it('comes after a new sign-in and the choice of an account, where both are asked for', async () => {
    const { person, name } = await newcomer()
    const choice = await person.open(url('openid', { prompt: 'select_account consent' }))
    expect(choice.body).toContain(`Continue as ${name}`)
    const page = await person.submit(choice, { decision: 'continue' })
    expect(page.body).toContain('value="allow"')
    codeOf(await person.submit(page, { decision: 'allow' }))
    const form = await person.open(url('openid', { prompt: 'login consent' }))
    expect(form.body).toContain('name="password"')
  })

  it('that is taken back ends what it gave, and is asked for again', async () => {
    const { person, id } = await newcomer()
    const scope = 'openid offline_access'
    const code = codeOf(await person.submit(await person.open(url(scope)), { decision: 'allow' }))
    const { body } = await exchange(site, asking, code)
    const { storage } = site.server.areas
    await storage.commit(consents().revoke('acme', id, asking.id))
    const { clientId, secret } = asking
    const introspected = await site.post('/introspect', {
      token: body.access_token,
      client_id: clientId,
      client_secret: secret,
    })
    expect(introspected.body).toEqual({ active: false })
    expect((await person.open(url(scope))).body).toContain('value="allow"')
    await expect(storage.commit(consents().revoke('acme', id, asking.id))).rejects.toThrow()
  })

  it.each([
    ['no token', () => ({})],
    ['a wrong token', () => ({ _csrf: 'x'.repeat(43) })],
  ])('is not given by a form with %s', async (_name, csrf) => {
    const { person, id } = await newcomer()
    const page = await person.open(url())
    const { pathname } = new URL(/action="([^"]+)"/.exec(page.body)?.[1] ?? '', site.issuer)
    const target = `${site.server.baseUrl}${pathname}`
    const answer = await person.open(target, { decision: 'allow', ...csrf() })
    expect(answer.status).toBe(403)
    expect(answer.away).toBeUndefined()
    expect(await consents().list('acme', id)).toEqual([])
  })

  it('is not given with the token of another session, or by another browser (CSRF, hydra#770)', async () => {
    const [one, other] = [await newcomer(), await newcomer()]
    const [page, theirs] = [await one.person.open(url()), await other.person.open(url())]
    const action = (body: string): string =>
      `${site.server.baseUrl}${/action="([^"]+)"/.exec(body)?.[1]}`
    const token = hiddenFields(theirs.body)['_csrf'] ?? ''
    const fields = { decision: 'allow', _csrf: token }
    expect((await one.person.open(action(page.body), fields)).status).toBe(403)
    expect((await other.person.open(action(page.body), fields)).status).toBe(403)
    expect(await consents().list('acme', one.id)).toEqual([])
  })

  it('is given once: the form cannot be sent again', async () => {
    const { person } = await newcomer()
    const page = await person.open(url())
    codeOf(await person.submit(page, { decision: 'allow' }))
    expect((await person.submit(page, { decision: 'allow' })).status).toBe(403)
  })

  it('does not help a user or a client that is disabled while the page is open', async () => {
    const { person, id } = await newcomer()
    const page = await person.open(url())
    await change(site, `/users/${id}`, { enabled: false })
    const answer = await person.submit(page, { decision: 'allow' })
    expect(answer.away).toBeUndefined()
    expect(answer.body).toContain('name="password"')
    const second = await newcomer()
    const waiting = await second.person.open(url())
    await change(site, `/clients/${asking.id}`, { enabled: false })
    const refused = await second.person.submit(waiting, { decision: 'allow' })
    expect([refused.status, refused.away]).toEqual([400, undefined])
    await change(site, `/clients/${asking.id}`, { enabled: true })
  })
})
