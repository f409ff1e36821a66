/** Identity providers in Git: an applied realm is exported as it was written, a rename keeps links, a deletion tells who is locked out. */

import { load } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { makeCertificate } from '../../../platform/outgoing/certificates.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const signing = makeCertificate(['idp.example'], 2048)
const secrets = {
  UPSTREAM_SECRET: 'a secret of ours',
  BIND_PASSWORD: 'the password of the bind user',
}

const fromEnv = (name: string): string => `\${env:${name}}`

interface Named {
  readonly alias: string
  readonly config: Readonly<Record<string, unknown>>
}

const oidc = {
  alias: 'upstream',
  protocol: 'oidc',
  displayName: 'Upstream',
  trustEmail: true,
  syncMode: 'FORCE',
  organization: 'corp',
  config: {
    issuer: 'https://upstream.example',
    clientId: 'ours',
    clientSecret: fromEnv('UPSTREAM_SECRET'),
    defaultScope: 'openid email groups',
  },
  mappers: [
    { name: 'department', type: 'attribute', claim: 'department', attribute: 'department' },
    { name: 'staff', type: 'group', claim: 'groups', value: 'staff', group: '/Staff' },
  ],
}

const saml = {
  alias: 'corp-saml',
  protocol: 'saml',
  accountLinking: 'never',
  config: {
    ssoUrl: 'https://idp.example/sso',
    idpEntityId: 'https://idp.example',
    idpSigningCertificate: signing.certificate,
    spEntityId: 'https://sp.example',
  },
  mappers: [{ name: 'support', type: 'role', claim: 'team', value: 'support', role: 'support' }],
}

const ldap = {
  alias: 'directory',
  protocol: 'ldap',
  config: {
    url: 'ldaps://ldap.corp.example',
    bindDn: 'cn=iamctl,dc=corp,dc=example',
    bindPassword: fromEnv('BIND_PASSWORD'),
    userSearchBase: 'ou=people,dc=corp,dc=example',
    syncSchedule: '1h',
    onMissing: 'keep',
  },
}

const realmWith = (realm: string, providers: readonly object[]): string =>
  JSON.stringify({
    realm,
    roles: [{ name: 'support' }],
    groups: [{ name: 'Staff' }],
    organizations: [{ alias: 'corp', name: 'Corp', domains: [{ name: 'corp.example' }] }],
    identityProviders: providers,
  })

const applied = async (realm: string, ...providers: readonly object[]): Promise<Estate> => {
  const estate = newEstate(world(), { 'realm.yaml': realmWith(realm, providers) }, secrets)
  const { code, stderr } = await estate.run('apply realm.yaml --auto-approve')
  expect(code, stderr).toBe(0)
  return estate
}

/** A user who is linked, and so signs in through the provider. */
const linkedUser = async (realm: string, alias: string, name: string, password?: string) => {
  const at = `/admin/realms/${realm}/users`
  const { send } = world().admin
  const made = await send('POST', at, { username: name, enabled: true })
  expect(made.status).toBe(201)
  const link = { userId: `subject of ${name}`, issuer: 'https://upstream.example' }
  expect((await send('POST', `${at}/${name}/federated-identity/${alias}`, link)).status).toBe(204)
  if (password !== undefined)
    expect((await send('PUT', `${at}/${name}/password`, { newPassword: password })).status).toBe(
      204,
    )
}

describe('identity providers in the files', () => {
  it('of every protocol are exported as they were written, without secrets, and plan to nothing', async () => {
    const realm = newRealm()
    const { run } = await applied(realm, oidc, saml, ldap)
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
    const { code, stdout: text, stderr } = await run(`export --realm ${realm}`)
    expect(code, stderr).toBe(0)
    for (const value of Object.values(secrets)) expect(text).not.toContain(value)
    const { identityProviders } = load(text) as { identityProviders: readonly Named[] }
    const byAlias = (alias: string) => identityProviders.find((one) => one.alias === alias)
    for (const provider of [oidc, saml, ldap]) {
      const { config, ...rest } = provider
      const { clientSecret: _, bindPassword: __, ...open } = config as Record<string, unknown>
      expect(byAlias(provider.alias)).toMatchObject(rest)
      expect(byAlias(provider.alias)?.config).toMatchObject(open)
    }
  })

  it('show a secret as changed where it has, and only then', async () => {
    const realm = newRealm()
    const { run, write, folder } = await applied(realm, oidc, ldap)
    const other = await world().home.run(['plan', 'realm.yaml', '--detailed-exitcode'], {
      cwd: folder,
      env: { ...secrets, UPSTREAM_SECRET: 'another secret of ours' },
    })
    expect(other.code).toBe(2)
    expect(other.stdout).toMatch(/identity-provider "upstream" will be updated/)
    expect(other.stdout).toMatch(/clientSecret/)
    expect(other.stdout).not.toContain('bindPassword')
    expect(other.stdout).not.toContain('another secret of ours')
    // Another address for a stored secret is told, and the secret is sent again.
    const moved = { ...ldap, config: { ...ldap.config, url: 'ldaps://other.corp.example' } }
    write({ 'realm.yaml': realmWith(realm, [oidc, moved]) })
    const planned = await run('plan realm.yaml')
    expect(planned.stdout).toMatch(/bindPassword/)
    expect(planned.stdout).not.toContain(secrets.BIND_PASSWORD)
  })

  it('keep the links of users when they are renamed', async () => {
    const realm = newRealm()
    const { run, write } = await applied(realm, oidc)
    await linkedUser(realm, 'upstream', 'ada')
    const renamed = { ...oidc, alias: 'other', renamedFrom: 'upstream' }
    write({ 'realm.yaml': realmWith(realm, [renamed]) })
    const planned = await run('plan realm.yaml')
    expect(planned.stdout).toContain('identity-provider "upstream" will be renamed to "other"')
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    const { body } = await world().admin.send(
      'GET',
      `/admin/realms/${realm}/users/ada/federated-identity`,
    )
    expect(body).toMatchObject([{ identityProvider: 'other', userId: 'subject of ada' }])
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
  })

  it('say before they go how many people sign in through them and how many have no other way', async () => {
    const realm = newRealm()
    const { run, write } = await applied(realm, oidc)
    await linkedUser(realm, 'upstream', 'ada')
    await linkedUser(realm, 'upstream', 'ben')
    // A second factor alone lets nobody in.
    const app = { type: 'otp', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' }
    const users = `/admin/realms/${realm}/users`
    expect((await world().admin.send('POST', `${users}/ben/credentials`, app)).status).toBe(201)
    await linkedUser(realm, 'upstream', 'cleo', 'a long password of Cleo 7')
    write({ 'realm.yaml': realmWith(realm, [{ ...oidc, enabled: false }]) })
    const told = '3 users sign in through it, 2 users lose the only way to sign in'
    expect((await run('plan realm.yaml')).stdout).toContain(told)
    write({ 'realm.yaml': realmWith(realm, []) })
    const planned = await run('plan realm.yaml')
    expect(planned.stdout).toContain('identity-provider "upstream" will be destroyed')
    expect(planned.stdout).toContain(told)
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    for (const name of ['ada', 'ben', 'cleo'])
      expect((await world().admin.send('GET', `/admin/realms/${realm}/users/${name}`)).status).toBe(
        200,
      )
  })
})
