/** Tokens about users: subjects, roles through groups and composites, standard scopes, mappers, id tokens. */

import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import { SubjectMissingError } from '#server/tokens/subject.ts'
import { claimsOf } from '../oidc/fixture.ts'
import { backends } from '../support/backends.ts'
import { openWorld, type TokenWorld } from './fixture.ts'

describe.each(backends)('tokens about users on $name', (backend) => {
  let world: TokenWorld
  let client: TokenClient
  let ann: UserRow
  const scopes = ['profile', 'email', 'groups', 'roles']

  beforeAll(async () => {
    world = await openWorld(backend)
    for (const name of ['address', 'phone']) await world.admin('POST', '/client-scopes', { name })
    client = await world.client({
      clientId: 'app',
      redirectUris: ['https://app.example/cb'],
      scopes: [...scopes, 'address', 'phone'],
    })
    await world.admin('POST', '/roles', { name: 'reader' })
    await world.admin('POST', '/roles', { name: 'editor', composites: ['reader'] })
    await world.admin('POST', '/roles', { name: 'helper' })
    await world.admin('POST', `/clients/${client.id}/roles`, { name: 'tester' })
    const staff = (await world.admin('POST', '/groups', { name: 'Staff' })).body['groupId']
    const help = { name: 'Help', parentId: staff }
    const desk = (await world.admin('POST', '/groups', help)).body['groupId']
    await world.admin('PUT', `/groups/${staff}/roles/editor`)
    await world.admin('PUT', `/groups/${desk}/roles/helper`)
    ann = await world.user({
      username: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Lee',
      attributes: {
        employee: ['E-17'],
        phoneNumber: ['+3120555'],
        phoneNumberVerified: ['true'],
        street: ['Dam 1'],
        country: ['NL'],
        languages: ['nl', 'en'],
      },
    })
    await world.holds(ann, ['app/tester'], ['/Staff/Help'])
  })
  afterAll(() => world.close())

  const idToken = async (of: TokenClient, scope: readonly string[], user = ann, more = {}) =>
    claimsOf(
      await world.server.areas.tokens.mint.idToken({
        issuer: await world.issuer(),
        client: await world.again(of),
        user,
        scope,
        authentication: {
          grantId: 'g',
          sid: 's',
          authTime: 1_700_000_000_000,
          acr: '1',
          amr: ['pwd'],
        },
        ...more,
      }),
    )
  const accessToken = async (of: TokenClient, scope: readonly string[] = ['openid'], user = ann) =>
    claimsOf(
      (
        await world.server.areas.tokens.mint.accessToken({
          issuer: await world.issuer(),
          client: await world.again(of),
          user,
          scope,
          authentication: { grantId: 'g', sid: 's' },
        })
      ).token,
    )

  it('have roles through groups, the groups above, and composites', async () => {
    expect(await accessToken(client)).toMatchObject({
      sub: ann.id,
      jti: expect.stringMatching(/\.g$/),
      sid: 's',
      realm_access: { roles: ['editor', 'helper', 'reader'] },
      resource_access: { app: { roles: ['tester'] } },
    })
  })

  it('have what OIDC Core §5.4 says a scope means, where the realm wants it in id tokens, and never in access tokens', async () => {
    await world.admin('PUT', '/settings', { idTokenScopeClaims: true })
    const claims = await idToken(client, ['openid', 'profile', 'email', 'address', 'phone'])
    await world.admin('PUT', '/settings', { idTokenScopeClaims: false })
    expect(claims).toMatchObject({
      name: 'Ann Lee',
      given_name: 'Ann',
      family_name: 'Lee',
      preferred_username: 'ann',
      email: 'ann@example.com',
      email_verified: true,
      phone_number: '+3120555',
      phone_number_verified: true,
      address: { street_address: 'Dam 1', country: 'NL' },
      updated_at: Math.floor(ann.updated_at / 1000),
    })
    expect(await idToken(client, ['openid'])).not.toHaveProperty('email')
    expect(await accessToken(client, ['openid', 'email'])).not.toHaveProperty('email')
  })

  it('leave out a claim without a value (OIDC Core §5.3.2)', async () => {
    const blank = await world.user({
      username: 'blank',
      attributes: { birthdate: [''], phoneNumber: [''], street: [''], nickname: ['', 'B'] },
    })
    const claims = await world.server.areas.tokens.mint.userinfo({
      issuer: await world.issuer(),
      client: await world.again(client),
      user: blank,
      scope: ['openid', 'profile', 'address', 'phone'],
      authentication: {},
    })
    expect(Object.keys(claims).toSorted()).toEqual([
      'nickname',
      'preferred_username',
      'sub',
      'updated_at',
    ])
  })

  it('have groups as paths where the scope is granted', async () => {
    expect((await idToken(client, ['openid', 'groups']))['groups']).toEqual(['/Staff/Help'])
    expect((await accessToken(client, ['groups']))['groups']).toEqual(['/Staff/Help'])
  })

  it('have claims that the request names one by one (OIDC Core §5.5)', async () => {
    const claims = await idToken(client, ['openid'], ann, { requestedClaims: ['email', 'iss'] })
    expect(claims['email']).toBe('ann@example.com')
    expect(claims).not.toHaveProperty('email_verified')
    expect(claims['iss']).toBe((await world.issuer()).url)
  })

  it('tell when and how the user signed in, and bind nonce, code and access token', async () => {
    const claims = await idToken(client, ['openid'], ann, {
      nonce: 'n-1',
      accessToken: 'token',
      code: 'code',
    })
    const half = (text: string): string =>
      createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url')
    expect(claims).toMatchObject({
      aud: 'app',
      azp: 'app',
      sub: ann.id,
      sid: 's',
      auth_time: 1_700_000_000,
      acr: '1',
      amr: ['pwd'],
      nonce: 'n-1',
      at_hash: half('token'),
      c_hash: half('code'),
    })
  })

  it('have attributes as a mapper says: one, or all of them', async () => {
    const mapped = await world.client({ clientId: 'mapped' })
    const add = (name: string, config: Record<string, string>) =>
      world.admin('POST', `/clients/${mapped.id}/mappers`, {
        name,
        protocolMapper: 'oidc-usermodel-attribute-mapper',
        config: { 'user.attribute': 'languages', 'claim.name': name, ...config },
      })
    await add('language', {})
    await add('languages', { multivalued: 'true' })
    await add('private', { 'id.token.claim': 'false' })
    const claims = await idToken(mapped, ['openid'])
    expect(claims).toMatchObject({ language: 'nl', languages: ['nl', 'en'] })
    expect(claims).not.toHaveProperty('private')
  })

  it('name the user by the strategy of the client', async () => {
    const subjects = { userId: ann.id, username: 'ann', email: 'ann@example.com' } as const
    for (const [subjectClaim, sub] of Object.entries(subjects)) {
      const made = await world.client({
        clientId: `by-${subjectClaim}`,
        subjectClaim: subjectClaim as keyof typeof subjects,
      })
      expect((await idToken(made, ['openid']))['sub']).toBe(sub)
    }
  })

  it('have client roles through groups, the groups above, and realm roles that contain them', async () => {
    const { body } = await world.admin('POST', '/clients', { clientId: 'shop' })
    for (const name of ['buyer', 'seller', 'auditor', 'clerk'])
      await world.admin('POST', `/clients/${body['id']}/roles`, { name })
    const put = (kind: string, key: string, doc: object) => ({
      op: 'put',
      kind,
      key,
      doc,
      ifHash: null,
    })
    const { revision } = (await world.admin('GET', '/export')).body
    await world.admin('POST', '/changesets', {
      baseRevision: revision,
      source: 'estate',
      operations: [
        put('role', 'clerk', { name: 'clerk', clientRoles: ['shop/clerk'] }),
        put('role', 'trader', { name: 'trader', composites: ['clerk'] }),
        put('group', '/Shop', { name: 'Shop', roles: ['trader'], clientRoles: ['shop/seller'] }),
        put('group', '/Shop/Night', { name: 'Night', clientRoles: ['shop/auditor'] }),
      ],
    })
    const cora = await world.user({ username: 'cora' })
    await world.holds(cora, ['shop/buyer'], ['/Shop/Night'])
    const roles = async () => {
      const { realm_access, resource_access } = await accessToken(client, ['openid'], cora)
      return [realm_access, resource_access]
    }
    expect(await roles()).toEqual([
      { roles: ['clerk', 'trader'] },
      { shop: { roles: ['auditor', 'buyer', 'clerk', 'seller'] } },
    ])
    await world.admin('DELETE', `/clients/${body['id']}/roles/seller`)
    await world.admin('DELETE', '/roles/trader')
    expect(await roles()).toEqual([undefined, { shop: { roles: ['auditor', 'buyer'] } }])
  })

  it('name the user by the strategy of the realm, and pairwise per sector (OIDC Core §8.1)', async () => {
    await world.admin('PUT', '/subject-claim', { strategy: 'attribute', attribute: 'employee' })
    expect((await idToken(client, ['openid']))['sub']).toBe('E-17')
    const nameless = await world.user({ username: 'nameless' })
    await expect(idToken(client, ['openid'], nameless)).rejects.toThrow(SubjectMissingError)

    await world.admin('PUT', '/subject-claim', { strategy: 'userId' })
  })

  it('name the user pairwise, per sector, where the realm or the client asks for it (OIDC Core §8.1)', async () => {
    const at = (clientId: string, ...hosts: string[]) =>
      world.client({
        clientId,
        redirectUris: hosts.map((host) => `https://${host}/${clientId}`),
        subjectClaim: 'pairwise',
      })
    const clients = [
      await at('one', 'a.example'),
      await at('same', 'a.example:8443'),
      await at('other', 'b.example'),
      // A client with several hosts, and one whose host is the name of the first.
      await at('c.example', 'd.example', 'e.example'),
      await at('named', 'c.example'),
    ]
    const subjects = () =>
      Promise.all(clients.map(async (each) => (await idToken(each, ['openid']))['sub']))
    const [one, same, ...others] = await subjects()
    expect(one).toBe(same)
    expect(new Set([one, ...others]).size).toBe(4)
    expect(one).not.toContain(ann.id)
    await world.admin('PUT', '/subject-claim', { strategy: 'pairwise' })
    expect(await subjects()).toEqual([one, same, ...others])
    const salt = 'a salt that came from elsewhere'
    await world.admin('PUT', '/subject-claim', { strategy: 'pairwise', salt })
    expect(await subjects()).not.toContain(one)
    await world.admin('PUT', '/subject-claim', { strategy: 'userId' })
  })

  it('are refused when session, user or grant is gone (verifyAccessToken)', async () => {
    const {
      tokens: { mint, verifier, grantsStore },
      storage,
    } = world.server.areas
    const bob = await world.user({ username: 'bob' })
    const session = await world.session(bob)
    const grant = await world.grant(client, bob, { sid: session.sid })
    const issue = async () =>
      (
        await mint.accessToken({
          issuer: await world.issuer(),
          client,
          user: bob,
          scope: ['openid'],
          authentication: { grantId: grant.id, sid: session.sid },
        })
      ).token
    const token = await issue()
    const verified = await verifier.accessToken(await world.issuer(), token)
    expect(verified?.user?.id).toBe(bob.id)
    expect(verified?.grant?.id).toBe(grant.id)
    await storage.commit(grantsStore.revoke(grant.id))
    expect(await verifier.accessToken(await world.issuer(), token)).toBeUndefined()
  })

  it('are refused as access tokens when they are id tokens', async () => {
    const {
      tokens: { mint, verifier },
    } = world.server.areas
    const issuer = await world.issuer()
    const token = await mint.idToken({
      issuer,
      client,
      user: ann,
      scope: ['openid'],
      authentication: { grantId: 'g' },
    })
    expect(await verifier.accessToken(issuer, token)).toBeUndefined()
    expect((await verifier.signed(issuer, token))?.typ).toBe('JWT')
  })
})
