/** The claims parameter (OIDC Core §5.5): a name asks for what a scope means, and goes no further than scopes do. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { claimsOf, type OidcSite, openIssuer, type TestClient } from '../fixture.ts'
import {
  addPerson,
  answerOf,
  authorizeUrl,
  change,
  codeOf,
  exchange,
  newPerson,
  type Page,
  type Person,
  redirectUri,
} from '../relying-party.ts'

const claims = JSON.stringify({
  userinfo: {
    email: null,
    phone_number: { essential: true },
    groups: null,
    realm_access: null,
    department: null,
    team: null,
  },
  id_token: { email: null, name: null },
})

describe.each(backends)('claims that are asked for by name on $name', (backend) => {
  let site: OidcSite
  let count = 0

  const newClient = async (doc: object): Promise<TestClient> => {
    count += 1
    const client = await site.client({
      clientId: `client${count}`,
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [redirectUri],
      ...doc,
    })
    await site.admin('POST', `/clients/${client.id}/mappers`, {
      name: 'team',
      protocolMapper: 'oidc-hardcoded-claim-mapper',
      config: { 'claim.name': 'team', 'claim.value': 'blue' },
    })
    return client
  }

  beforeAll(async () => {
    site = await openIssuer(backend)
    await site.admin('POST', '/client-scopes', { name: 'phone' })
    const { body: hr } = await site.admin('POST', '/client-scopes', { name: 'hr' })
    await site.admin('POST', '/claims', {
      name: 'department',
      protocolMapper: 'oidc-usermodel-attribute-mapper',
      config: { 'claim.name': 'department', 'user.attribute': 'department' },
    })
    await site.admin('PUT', `/client-scopes/${hr.id}/claims/department`)
    const id = await addPerson(site, 'alice')
    await change(site, `/users/${id}`, {
      firstName: 'Alice',
      lastName: 'Lee',
      attributes: { phoneNumber: ['+45 1234'], department: ['Ships'] },
    })
    const { body: staff } = await site.admin('POST', '/groups', { name: 'Staff' })
    await site.admin('PUT', `/groups/${staff.groupId}/members/${id}`)
    await site.admin('POST', '/roles', { name: 'editor' })
    await site.admin('POST', `/users/${id}/roles`, { name: 'editor' })
  }, 60_000)
  afterAll(() => site.close())

  const told = async (client: TestClient, page: Page) => {
    const { body } = await exchange(site, client, codeOf(page))
    const authorization = `Bearer ${body.access_token}`
    return {
      scope: body.scope,
      refresh: body.refresh_token,
      userinfo: (await site.get('/userinfo', { authorization })).body,
      idToken: claimsOf(body.id_token),
    }
  }
  const alice = async (): Promise<Person> => {
    const person = newPerson(site)
    await person.signIn(authorizeUrl(site, await newClient({})))
    return person
  }

  it('are those of scopes that the client may have, its own mappers aside', async () => {
    const person = await alice()
    const none = await newClient({ scopes: [] })
    const nothing = await told(none, await person.open(authorizeUrl(site, none, { claims })))
    expect(nothing.userinfo).toEqual({ sub: expect.any(String), team: 'blue' })
    for (const name of ['email', 'name']) expect(nothing.idToken).not.toHaveProperty(name)

    const some = await newClient({ scopes: ['email', 'hr', 'roles'] })
    const page = await person.open(authorizeUrl(site, some, { claims }))
    const { scope, userinfo, idToken } = await told(some, page)
    expect(scope).toBe('openid')
    expect(userinfo).toEqual({
      sub: expect.any(String),
      team: 'blue',
      email: 'alice@acme.example',
      department: 'Ships',
      realm_access: { roles: expect.arrayContaining(['editor']) },
    })
    expect(idToken['email']).toBe('alice@acme.example')
    expect(idToken).not.toHaveProperty('name')
  })

  it('end with the scope that the client may have no more', async () => {
    const client = await newClient({ scopes: ['email'] })
    const page = await (await alice()).open(authorizeUrl(site, client, { claims }))
    const { refresh } = await told(client, page)
    await change(site, `/clients/${client.id}`, { scopes: [] })
    const { clientId, secret } = client
    const fields = { client_id: clientId, client_secret: secret, refresh_token: refresh }
    const { body } = await site.post('/token', { grant_type: 'refresh_token', ...fields })
    expect(claimsOf(body.id_token)).not.toHaveProperty('email')
    const authorization = `Bearer ${body.access_token}`
    expect((await site.get('/userinfo', { authorization })).body).not.toHaveProperty('email')
  })

  it('need the consent of the scopes that they stand for, and do not widen the grant', async () => {
    const person = await alice()
    const client = await newClient({ scopes: ['email', 'profile'], consentRequired: true })
    const asked = { claims: JSON.stringify({ userinfo: { email: null } }) }
    const url = (more = {}) => authorizeUrl(site, client, more)
    const first = await person.open(url())
    expect(first.body).not.toContain('Your email address')
    codeOf(await person.submit(first, { decision: 'allow' }))

    const silent = await person.open(url({ ...asked, prompt: 'none' }))
    expect(answerOf(silent)['error']).toBe('consent_required')
    const page = await person.open(url(asked))
    expect(page.body).toContain('Your email address')
    expect(page.body).not.toContain('Your name and profile')
    const { scope, userinfo } = await told(client, await person.submit(page, { decision: 'allow' }))
    expect(scope).toBe('openid')
    expect(userinfo['email']).toBe('alice@acme.example')
    expect((await site.events('GRANT_CONSENT'))[0]?.detail).toBe('openid email')

    codeOf(await person.open(url({ ...asked, prompt: 'none' })))
    codeOf(await person.open(url({ scope: 'openid email', prompt: 'none' })))
    const more = { claims: JSON.stringify({ id_token: { name: null } }), prompt: 'none' }
    expect(answerOf(await person.open(url(more)))['error']).toBe('consent_required')
  })

  it('need no consent of their own where a scope that is asked for means them', async () => {
    const { body: contact } = await site.admin('POST', '/client-scopes', { name: 'contact' })
    await site.admin('POST', '/claims', {
      name: 'contact-email',
      protocolMapper: 'oidc-usermodel-property-mapper',
      config: { 'claim.name': 'email', 'user.attribute': 'email' },
    })
    await site.admin('PUT', `/client-scopes/${contact.id}/claims/contact-email`)
    const person = await alice()
    for (const scope of ['openid contact', 'openid email']) {
      const client = await newClient({ scopes: ['contact', 'email'], consentRequired: true })
      const page = await person.open(authorizeUrl(site, client, { scope }))
      codeOf(await person.submit(page, { decision: 'allow' }))
      const asked = { scope, prompt: 'none', claims: '{"userinfo":{"email":null}}' }
      codeOf(await person.open(authorizeUrl(site, client, asked)))
    }
  })

  it.each([{ value: '2' }, { values: ['gold', '2'] }])(
    'a voluntary acr %j is a wish, as acr_values are (OIDC Core §5.5.1.1)',
    async (acr) => {
      const client = await newClient({ defaultAcrValues: ['1'] })
      const asked = { claims: JSON.stringify({ id_token: { acr } }) }
      const person = await alice()
      const silent = (more = {}) => authorizeUrl(site, client, { ...more, prompt: 'none' })
      expect(answerOf(await person.open(silent(asked)))['error']).toBe('login_required')
      for (const met of [{}, { ...asked, acr_values: '1' }])
        expect(answerOf(await person.open(silent(met)))).toHaveProperty('code')
      // Nobody has a second factor here: the sign-in is as good as it can be.
      const { idToken } = await told(
        client,
        await newPerson(site).signIn(authorizeUrl(site, client, asked)),
      )
      expect(idToken['acr']).toBe('1')
    },
  )
})
