/** `iamctl users import` of Keycloak exports, in the formats of real ones; all data is invented. */

import { pbkdf2Sync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { put, role, senderTo } from '../../../realm/changesets/changeset.ts'
import { anyBackend } from '../../../support/backends.ts'
import { signIn } from '../../../support/processes/browserless.ts'
import { type ServedHome, startServedHome } from '../fixture/served-home.ts'

const passwordOf = (username: string): string => `the old password of ${username}`

const salt = Buffer.from('salt of sixteen.')
const hashed = (username: string, digest: string, size: number): string =>
  pbkdf2Sync(passwordOf(username), salt, 1000, size, digest).toString('base64')

const plain = (username: string, more: object = {}) => ({
  username,
  enabled: true,
  credentials: [{ type: 'password', value: passwordOf(username), ...more }],
})

/** On the credential itself, as before Keycloak 8. */
const old = (username: string, digest: string, size: number, algorithm: object) => ({
  username,
  enabled: true,
  totp: false,
  credentials: [
    {
      type: 'password',
      hashedSaltedValue: hashed(username, digest, size),
      salt: salt.toString('base64'),
      hashIterations: 1000,
      counter: 0,
      ...algorithm,
      digits: 0,
      period: 0,
      createdDate: 1_500_000_000_000,
      config: {},
    },
  ],
})

const recent = (username: string) => ({
  id: '6f0c1a52-0000-4000-8000-000000000001',
  createdTimestamp: 1_700_000_000_000,
  username,
  enabled: true,
  credentials: [
    {
      id: '6f0c1a52-0000-4000-8000-000000000002',
      type: 'password',
      userLabel: 'My password',
      createdDate: 1_700_000_000_000,
      secretData: JSON.stringify({
        value: hashed(username, 'sha512', 64),
        salt: salt.toString('base64'),
        additionalParameters: {},
      }),
      credentialData: JSON.stringify({ hashIterations: 1000, algorithm: 'pbkdf2-sha512' }),
    },
  ],
  notBefore: 0,
})

const members = {
  realmRoles: ['staff', 'offline_access'],
  clientRoles: { web: ['reader'], account: ['view-profile'] },
  groups: ['/team/blue', '/gone'],
}

/** Each alone makes a file, and all together the users of one export. */
const shapes = {
  'a password as text': [plain('plain')],
  'a password as text that begins with a dollar sign': [
    {
      ...plain('dollar', { temporary: false }),
      credentials: [{ type: 'password', value: '$ecret of dollar', temporary: false }],
    },
  ],
  'a hash before Keycloak 8': [old('old', 'sha256', 64, { algorithm: 'pbkdf2-sha256' })],
  'a hash before algorithms were named': [old('older', 'sha1', 64, {})],
  'a hash of today': [recent('recent')],
  'old attributes': [{ ...plain('attributed'), attributes: { team: 'blue' } }],
} satisfies Record<string, readonly object[]>

describe.each(anyBackend)('users of a Keycloak export on $name', (backend) => {
  let server: ServedHome['server']
  let home: ServedHome['home']
  let close: ServedHome['close']
  let made = 0
  beforeAll(async () => {
    ;({ server, home, close } = await startServedHome(backend))
  })
  afterAll(() => close())

  const newRealm = async (): Promise<string> => {
    made += 1
    const realm = `keycloak-${made}`
    const base = await server.createRealm(realm)
    const post = (path: string, body: object) => server.admin.send('POST', `${base}${path}`, body)
    expect((await post('/roles', { name: 'staff' })).status).toBe(201)
    const client = await post('/clients', { clientId: 'web', publicClient: true })
    expect(client.status).toBe(201)
    const roles = `/clients/${client.body.id}/roles`
    expect((await post(roles, { name: 'reader' })).status).toBe(201)
    const team = await post('/groups', { name: 'team' })
    expect(team.status).toBe(201)
    const parentId = team.body.groupId ?? team.body.id
    expect((await post('/groups', { name: 'blue', parentId })).status).toBe(201)
    return realm
  }

  const imported = (realm: string, content: unknown, ...flags: string[]) => {
    const file = join(home.folder, `${realm}.json`)
    writeFileSync(file, JSON.stringify(content, null, 2))
    return home.run(['users', 'import', file, '--realm', realm, ...flags])
  }

  const usernamesIn = async (realm: string): Promise<string[]> => {
    const rows = await server.areas.storage.db
      .selectFrom('users')
      .select('username')
      .where('realm', '=', realm)
      .orderBy('username')
      .execute()
    return rows.map(({ username }) => username)
  }

  /** Keys of the documents that a user was given. */
  const givenTo = async (realm: string, username: string): Promise<string[]> => {
    const { db } = server.areas.storage
    const keys = async (table: 'user_roles' | 'user_groups', column: 'role_id' | 'group_id') => {
      const rows = await db
        .selectFrom(table)
        .innerJoin('users', 'users.id', `${table}.user_id`)
        .innerJoin('documents', 'documents.id', `${table}.${column}` as 'user_roles.role_id')
        .select(['documents.kind', 'documents.key'])
        .where('users.realm', '=', realm)
        .where('users.username', '=', username)
        .execute()
      return rows.map(({ kind, key }) => `${kind} ${key}`)
    }
    const found = [
      ...(await keys('user_roles', 'role_id')),
      ...(await keys('user_groups', 'group_id')),
    ]
    return found.sort()
  }

  it('sign in with their old passwords, whatever the form', async () => {
    const realm = await newRealm()
    for (const [shape, users] of Object.entries(shapes)) {
      const { code, stderr } = await imported(realm, { realm: 'old', users })
      expect(code, `${shape}: ${stderr}`).toBe(0)
    }
    for (const username of ['plain', 'old', 'older', 'recent', 'attributed'])
      await signIn(server.baseUrl, realm, username, passwordOf(username))
    await signIn(server.baseUrl, realm, 'dollar', '$ecret of dollar')
    const stored = await server.areas.storage.db.selectFrom('credentials').selectAll().execute()
    expect(JSON.stringify(stored)).not.toContain(passwordOf('plain'))
  })

  it('must change a password that was temporary', async () => {
    const realm = await newRealm()
    const { code, stderr } = await imported(realm, [plain('new-here', { temporary: true })])
    expect(code, stderr).toBe(0)
    const { body } = await server.admin.send('GET', `/admin/realms/${realm}/users/new-here`)
    expect(body.requiredActions).toEqual(['UPDATE_PASSWORD'])
  })

  it('keep the roles and groups that the realm has, and the others are listed', async () => {
    const realm = await newRealm()
    const users = [
      { ...plain('member'), ...members },
      { ...recent('other'), groups: ['/gone'] },
    ]
    const dry = await imported(realm, { realm: 'old', users }, '--dry-run')
    expect(dry.code, dry.stderr).toBe(0)
    expect(await usernamesIn(realm)).toEqual([])
    const { code, stderr } = await imported(realm, { realm: 'old', users })
    expect(code, stderr).toBe(0)
    expect(await givenTo(realm, 'member')).toEqual([
      'client-role web/reader',
      'group /team/blue',
      'role staff',
      'role user',
    ])
    for (const text of [stderr, dry.stderr]) {
      expect(text).toMatch(/role "offline_access" does not exist .*: 1 users/)
      expect(text).toMatch(/client-role "account\/view-profile" does not exist .*: 1 users/)
      expect(text).toMatch(/group "\/gone" does not exist .*: 2 users/)
    }
  })

  it('keep what they have when they are overwritten, and get the rest', async () => {
    const realm = await newRealm()
    const users = [{ ...plain('again'), realmRoles: ['staff'] }]
    expect((await imported(realm, { realm: 'old', users })).code).toBe(0)
    const second = [{ ...plain('again'), realmRoles: ['staff'], groups: ['/team'] }]
    const { code, stderr } = await imported(realm, { users: second }, '--if-exists', 'overwrite')
    expect(code, stderr).toBe(0)
    expect(await givenTo(realm, 'again')).toEqual(['group /team', 'role staff', 'role user'])
  })

  it('lose the consents they gave, and get no role of administration, with a note', async () => {
    const realm = await newRealm()
    const client = `/admin/realms/${realm}/clients`
    const made = await server.admin.send('POST', client, { clientId: 'realm-management' })
    expect(made.status).toBe(201)
    const consent = { clientId: 'web', grantedClientScopes: ['profile'], createdDate: 1 }
    const users = [
      {
        ...plain('boss'),
        clientConsents: [consent],
        clientRoles: { 'realm-management': ['realm-admin', 'manage-users'] },
      },
      { ...plain('master'), clientRoles: { 'shop-realm': ['create-client'] } },
    ]
    const { code, stderr } = await imported(realm, { realm: 'old', users })
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('clientConsents of 1 users')
    expect(stderr).toMatch(/client-role "realm-management\/realm-admin" does not exist .*: 1 users/)
    expect(stderr).toContain('declare a role with `permissions`')
    for (const { username } of users) expect(await givenTo(realm, username)).toEqual(['role user'])
  })

  it('come from the realm that is named, of an export of a whole server', async () => {
    const realm = await newRealm()
    const whole = [
      { realm: 'master', users: [plain('root')] },
      { realm: 'Old Shop', users: [plain('customer')] },
    ]
    const unnamed = await imported(realm, whole)
    expect(unnamed.code).toBe(3)
    expect(unnamed.stderr).toMatch(/its realms are master, Old Shop.*--from-realm/s)
    const { code, stderr } = await imported(realm, whole, '--from-realm', 'Old Shop')
    expect(code, stderr).toBe(0)
    expect(await usernamesIn(realm)).toEqual(['customer'])
  })

  it('are what `iamctl import` refers to, which takes no realm of Keycloak and makes none', async () => {
    const file = join(home.folder, 'realm.json')
    for (const telling of [{ keycloakVersion: '26.0.0' }, { sslRequired: 'external' }]) {
      writeFileSync(file, JSON.stringify({ id: 'old', realm: 'old', ...telling, users: [] }))
      const { code, stderr } = await home.run(['import', file, '--realm', 'old', '--auto-approve'])
      expect(code, stderr).toBe(3)
      expect(stderr).toContain('iamctl users import')
      expect((await server.admin.send('GET', '/admin/realms/old')).status).toBe(404)
    }
  })

  it('are people: service accounts are skipped, with a note', async () => {
    const realm = await newRealm()
    const users = [
      {
        username: 'service-account-ci',
        enabled: true,
        serviceAccountClientId: 'ci',
        attributes: { owner: ['ops'] },
        clientRoles: { 'realm-management': ['realm-admin'] },
      },
      { username: 'backend', enabled: true, serviceAccountClientId: 'backend' },
      { username: 'service-account-older', enabled: true, clientRoles: {} },
      plain('person'),
    ]
    const { code, stderr } = await imported(realm, { realm: 'old', users })
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('skipped 3 service accounts')
    expect(await usernamesIn(realm)).toEqual(['person'])
    const none = await imported(realm, { realm: 'old', users: users.slice(0, 3) })
    expect(none.code).not.toBe(0)
    expect(await usernamesIn(realm)).toEqual(['person'])
  })

  it('name the user in the file where the server refuses one, behind those that are skipped', async () => {
    const realm = await newRealm()
    const users = [
      { username: 'service-account-ci', serviceAccountClientId: 'ci' },
      plain('fine'),
      { ...plain('bad'), email: 'no address' },
    ]
    const { code, stderr } = await imported(realm, { realm: 'old', users })
    expect(code).toBe(3)
    expect(stderr).toContain('user 3 of')
    expect(await usernamesIn(realm)).toEqual([])
  })

  it('get no permission that the caller does not hold, by a role or by a group', async () => {
    const realm = await newRealm()
    const base = `/admin/realms/${realm}`
    const { status: applied } = await senderTo(server, realm).apply([
      role('boss', { permissions: ['realm-admin'] }),
      role('outer', { composites: ['boss'] }),
      put('group', '/bosses', { name: 'bosses', roles: ['outer'] }),
    ])
    expect(applied).toBe(200)
    const caller = await server.userWith(realm, ['manage-users', 'manage-organizations'])
    const weaker = await server.userWith(realm, ['manage-users'])
    const before = await usernamesIn(realm)
    const attempt = (as: typeof caller, more: object) =>
      as.send('POST', `${base}/users/import`, { users: [{ username: 'climber', ...more }] })
    for (const more of [{ roles: ['boss'] }, { roles: ['outer'] }, { groups: ['/bosses'] }]) {
      const { status, body } = await attempt(caller, more)
      expect(status, JSON.stringify(body)).toBe(403)
      expect(body.detail).toContain('realm-admin')
    }
    expect((await attempt(weaker, { groups: ['/team'] })).status).toBe(403)
    expect(await usernamesIn(realm)).toEqual(before)
    expect((await attempt(caller, { roles: ['staff'], groups: ['/team'] })).status).toBe(200)
  })
})
