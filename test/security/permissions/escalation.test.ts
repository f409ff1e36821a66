/**
 * No permission, and no small set of them, leads to realm-admin: a caller grants only permissions that the caller holds.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  effectivePermissions,
  type Permission,
  permissionKeys,
} from '#schemas/access/permissions.ts'
import { Client as ClientKind } from '#schemas/kinds/clients/client.ts'
import { Group } from '#schemas/kinds/users/group.ts'
import { Role } from '#schemas/kinds/users/role.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { backends } from '../../support/backends.ts'
import { type Client, startServer, type TestServer } from '../../support/server.ts'
import { gains, grantsOf, principalsOf } from './powers.ts'

const estate = { via: 'changeset', origin: 'declared', owner: 'estate' } as const
const others = permissionKeys.filter((key) => key !== 'realm-admin')
const base = '/admin/realms/acme'
/** A hash of the attacker's choice. */
const phc = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
const workload = {
  name: 'builder',
  issuer: 'https://issuer.example',
  subject: 'repo:acme/app',
  audience: 'iamctl',
  clientId: 'pipeline',
}
const secret = 'a secret of more than thirty-two characters'

describe.each(backends)('escalation on $name', (backend) => {
  let server: TestServer
  let admin: Client
  const ids: Record<string, string> = {}

  const put = (kind: typeof Role, key: string, doc: Record<string, unknown>, by = permissionKeys) =>
    server.areas.realm.writer.write({
      realm: 'acme',
      channel: estate,
      caller: { actor: 'test', sourceIp: '127.0.0.1', permissions: effectivePermissions(by) },
      operations: [{ op: 'put', kind, key, doc, secrets: {} }],
    })
  const roleIdOf = async (client: Client): Promise<string> =>
    (await server.admin.send('GET', `${base}/users/${client.userId}/roles`)).body[0].roleId

  beforeAll(async () => {
    server = await startServer(backend)
    await server.createRealm('acme')
    admin = await server.userWith('acme', ['realm-admin'])
    const { body: settings } = await server.admin.send('GET', `${base}/settings`)
    await server.admin.send('PUT', `${base}/settings`, {
      ...settings,
      clientSecretStorage: 'revealable',
    })
    await put(Group, '/Admins', { name: 'Admins', roles: ['admin'] })
    await put(Group, '/Admins/Night', { name: 'Night' })
    await put(ClientKind, 'pipeline', {
      clientId: 'pipeline',
      serviceAccountsEnabled: true,
      grantTypes: ['client_credentials'],
      serviceAccountRoles: ['admin'],
    })
    await put(ClientKind, 'helper', { clientId: 'helper', serviceAccountsEnabled: true })
    for (const [path, body] of [
      ['/workload-identity', workload],
      ['/agents', { name: 'robot', clientId: 'pipeline' }],
      ['/users', { username: 'boss-to-be' }],
    ] as const)
      expect((await server.admin.send('POST', `${base}${path}`, body)).status, path).toBe(201)
    await server.admin.send('POST', `${base}/users/boss-to-be/roles`, { name: 'admin' })
    await put(User, 'managed-admin', { username: 'managed-admin', groups: ['/Admins'] })
    const find = async (path: string, field: string) =>
      (await server.admin.send('GET', `${base}${path}`)).body[field]
    ids['adminRole'] = await find('/roles/admin', 'roleId')
    ids['userRole'] = await find('/roles/user', 'roleId')
    ids['admins'] = await find(`/groups/${encodeURIComponent('/Admins')}`, 'groupId')
    ids['night'] = await find(`/groups/${encodeURIComponent('/Admins/Night')}`, 'groupId')
    ids['pipeline'] = await find('/clients/pipeline', 'id')
    ids['managedAdmin'] = await find('/users/managed-admin', 'userId')
  })
  afterAll(() => server.close())

  /** Requests that would lead to realm-admin, or to a user who holds it. */
  const attacks = async (
    caller: Client,
  ): Promise<[method: string, path: string, body?: unknown][]> => {
    const own = await roleIdOf(caller)
    const ownName = (await server.admin.send('GET', `${base}/roles/${own}`)).body.name
    const { body: me } = await server.admin.send('GET', `${base}/users/${caller.userId}`)
    const { body: settings } = await server.admin.send('GET', `${base}/settings`)
    const group = await server.admin.send('POST', `${base}/groups`, { name: `of-${ownName}` })
    const { groupId } = group.body
    await server.areas.storage.commit([
      {
        sql: `insert into user_groups (user_id, group_id) values ('${caller.userId}', '${groupId}')`,
        parameters: [],
      },
    ])
    return [
      ['POST', `/users/${caller.userId}/roles`, { name: 'admin' }],
      ['POST', `/users/${caller.userId}/roles`, { name: ids['adminRole'] }],
      ['PUT', `/users/${caller.userId}`, { ...me, roles: ['admin'] }],
      ['POST', '/users', { username: `minion-${ownName}`, roles: ['admin'] }],
      ['POST', '/roles', { name: `new-${ownName}`, composites: ['admin'] }],
      ['POST', '/roles', { name: `other-${ownName}`, permissions: ['realm-admin'] }],
      ['PUT', `/roles/${own}`, { name: ownName, composites: ['admin'] }],
      ['PUT', `/roles/${own}`, { name: ownName, permissions: ['realm-admin'] }],
      ['PUT', '/roles/user', { name: 'user', composites: ['admin'] }],
      ['PUT', `/admin-roles/${own}`, { permissions: ['realm-admin'] }],
      ['PUT', `/admin-roles/${ids['userRole']}`, { permissions: ['realm-admin'] }],
      ['PUT', `/admin-roles/${ids['adminRole']}`, { permissions: [] }],
      ['PUT', `/groups/${groupId}`, { name: `of-${ownName}`, parentId: ids['admins'] }],
      ['PUT', `/groups/${groupId}`, { name: `of-${ownName}`, parentId: ids['night'] }],
      ['PUT', `/groups/${groupId}`, { name: `of-${ownName}`, roles: ['admin'] }],
      ['PUT', `/groups/${groupId}`, { name: `of-${ownName}`, roleNames: ['admin'] }],
      ['POST', '/groups', { name: `below-${ownName}`, parentId: ids['admins'] }],
      ['POST', '/groups', { name: `with-${ownName}`, roles: ['admin'] }],
      ['PUT', '/settings', { ...settings, defaultRole: 'admin' }],
      ['PUT', '/clients/pipeline', { clientId: 'pipeline', secret, serviceAccountsEnabled: true }],
      ['PUT', `/clients/${ids['pipeline']}`, { clientId: 'renamed', secret }],
      [
        'PUT',
        '/clients/pipeline',
        {
          clientId: 'pipeline',
          tokenEndpointAuthMethod: 'private_key_jwt',
          jwksUri: 'https://attacker.example/keys',
        },
      ],
      ['DELETE', '/clients/pipeline'],
      ['GET', '/clients/pipeline/secret'],
      ['POST', '/clients/pipeline/secret', {}],
      ['PUT', '/clients/pipeline/allowed-resources', ['https://attacker.example/']],
      ['POST', '/clients/helper/service-account/roles', { name: 'admin' }],
      ['DELETE', '/clients/pipeline/service-account/roles', { name: 'admin' }],
      ['POST', '/workload-identity', { ...workload, name: `w-${ownName}` }],
      ['PUT', '/workload-identity/builder', { ...workload, issuer: 'https://attacker.example' }],
      ['DELETE', '/workload-identity/builder'],
      ['POST', '/agents', { name: `a-${ownName}`, clientId: 'pipeline' }],
      ['PUT', '/agents/robot', { name: 'robot', clientId: 'pipeline', allowedDelegation: true }],
      ['PUT', `/groups/${groupId}/roles/admin`],
      ['POST', `/groups/${groupId}/roles/${ids['adminRole']}`],
      ['DELETE', `/groups/${ids['admins']}/roles/admin`],
      ['PUT', `/groups/${ids['admins']}/members/${caller.userId}`],
      ['POST', `/groups/${ids['night']}/members/${caller.userId}`],
      ['DELETE', `/groups/${ids['admins']}/members/${ids['managedAdmin']}`],
      ['PUT', '/roles/admin/default'],
      [
        'POST',
        '/users/import',
        {
          ifResourceExists: 'OVERWRITE',
          users: [{ username: 'boss-to-be', credentials: [{ type: 'password', value: phc }] }],
        },
      ],
      [
        'POST',
        '/users/import',
        { users: [{ username: `i-${ownName}`, roles: ['admin'], groups: ['/Admins'] }] },
      ],
      ['POST', '/clients', { clientId: `c-${ownName}`, serviceAccountRoles: ['admin'] }],
      ...[admin.userId, ids['managedAdmin'] ?? ''].flatMap(
        (target): [string, string, unknown?][] => [
          ['PUT', `/users/${target}/password`, { newPassword: 'the attacker knows this one' }],
          [
            'POST',
            `/users/${target}/credentials`,
            { type: 'password', value: 'the attacker knows' },
          ],
          ['POST', `/users/${target}/credentials`, { type: 'otp' }],
          ['POST', `/users/${target}/credentials`, { type: 'recovery-codes' }],
          ['PUT', `/users/${target}/required-actions`, ['UPDATE_PASSWORD']],
          ['POST', `/users/${target}/required-actions`, []],
          ['DELETE', `/users/${target}/credentials/password/${target}`],
          [
            'POST',
            '/messaging/push-tokens',
            {
              userId: target,
              deviceId: 'mine',
              platform: 'ios',
              driver: 'apns',
              token: 'x'.repeat(32),
            },
          ],
          ['PUT', `/users/${target}`, { username: 'boss', email: 'attacker@evil.example' }],
          ['PUT', `/users/${target}`, { username: 'boss', enabled: false }],
          ['PUT', `/users/${target}`, { username: 'boss', locked: true }],
          ['POST', `/users/${target}/roles`, { name: 'user' }],
          ['DELETE', `/users/${target}/roles/admin`],
          ['DELETE', `/users/${target}`],
        ],
      ),
    ]
  }

  it.each(others)('%s alone does not lead to realm-admin by any route', async (permission) => {
    const caller = await server.userWith('acme', [permission])
    const requests = await attacks(caller)
    const held = effectivePermissions([permission])
    const before = await principalsOf(server, 'acme')
    const grants = await grantsOf(server, 'acme')
    const wrong: string[] = []
    for (const [method, path, body] of requests) {
      const answer = await caller.send(method, `${base}${path}`, body)
      if (![400, 403, 409].includes(answer.status))
        wrong.push(`${method} ${path} ${JSON.stringify(body)}: ${answer.status}`)
    }
    expect(wrong).toEqual([])
    expect(gains(before, await principalsOf(server, 'acme'), held)).toEqual([])
    expect(await grantsOf(server, 'acme')).toEqual(grants)
  })

  it('is not possible with all other permissions together either', async () => {
    const caller = await server.userWith('acme', others)
    const before = await principalsOf(server, 'acme')
    const wrong: string[] = []
    for (const [method, path, body] of await attacks(caller)) {
      const answer = await caller.send(method, `${base}${path}`, body)
      if (![400, 403, 409].includes(answer.status))
        wrong.push(`${method} ${path} ${JSON.stringify(body)}: ${answer.status}`)
    }
    expect(wrong).toEqual([])
    expect(gains(before, await principalsOf(server, 'acme'), new Set(others))).toEqual([])
  })

  it('does not come from renaming or deleting: what grants more stays as it is', async () => {
    const few: Permission[] = ['manage-roles', 'manage-organizations']
    const caller = await server.userWith('acme', few)
    const aside = await server.admin.send('POST', `${base}/roles`, { name: 'harmless' })
    const renamed = await caller.send('PUT', `${base}/roles/harmless`, { name: 'harmless-2' })
    expect(renamed).toMatchObject({ status: 200, body: { roleId: aside.body.roleId } })
    for (const [path, body] of [
      ['/roles/admin', { name: 'harmless' }],
      ['/roles/auditor', { name: 'harmless' }],
      [`/groups/${ids['admins']}`, { name: 'Everybody' }],
      [`/groups/${ids['night']}`, { name: 'Day', parentId: ids['admins'] }],
      [`/groups/${ids['night']}`, { name: 'Night' }],
    ] as const) {
      const answer = await caller.send('PUT', `${base}${path}`, body)
      expect(answer, `${path} ${JSON.stringify(answer.body)}`).toMatchObject({
        status: 403,
        body: { code: 'forbidden', detail: expect.stringContaining('which you do not') },
      })
    }
    await put(Role, 'spare-admin', { name: 'spare-admin', permissions: ['realm-admin'] })
    for (const path of [
      '/roles/spare-admin',
      `/groups/${ids['admins']}`,
      `/groups/${ids['night']}`,
    ])
      expect((await caller.send('DELETE', `${base}${path}`)).status, path).toBe(403)
  })

  it('does not come from swapping names within one list of operations', async () => {
    const few: Permission[] = ['manage-roles', 'manage-users', 'manage-organizations']
    await put(Role, 'low', { name: 'low' })
    await put(Group, '/Low', { name: 'Low', roles: ['low'] })
    await put(Group, '/Base', { name: 'Base' })
    await put(Group, '/Base/Mine', { name: 'Mine' })
    await put(User, 'swapper', { username: 'swapper', roles: ['low'], groups: ['/Low'] })
    await put(User, 'member', { username: 'member', groups: ['/Base/Mine'] })
    const caller = {
      actor: 'swapper',
      sourceIp: '127.0.0.1',
      permissions: effectivePermissions(few),
    }
    const before = await principalsOf(server, 'acme')
    const op = 'put' as const
    const rename = (kind: typeof Role, from: string, key: string) => ({
      op,
      kind,
      key,
      from,
      doc: (doc: object) => ({ ...doc, name: key.slice(key.lastIndexOf('/') + 1) }),
      secrets: {},
    })
    const user = (username: string, doc: object) => ({
      op,
      kind: User,
      key: username,
      doc: { username, ...doc },
      secrets: {},
    })
    for (const operations of [
      [
        rename(Role, 'low', 'aside'),
        rename(Role, 'admin', 'low'),
        user('swapper', { roles: ['low'], groups: ['/Low'] }),
      ],
      [
        rename(Group, '/Low', '/Aside'),
        rename(Group, '/Admins', '/Low'),
        user('swapper', { roles: ['low'], groups: ['/Low'] }),
      ],
      [
        rename(Role, 'low', 'aside'),
        rename(Role, 'admin', 'low'),
        { op, kind: Group, key: '/Low', doc: { name: 'Low', roles: ['low'] }, secrets: {} },
      ],
      [
        rename(Group, '/Base', '/Aside'),
        rename(Group, '/Admins', '/Base'),
        {
          op,
          kind: Group,
          key: '/Base/Mine',
          from: '/Aside/Mine',
          doc: { name: 'Mine' },
          secrets: {},
        },
      ],
    ]) {
      const swapped = server.areas.realm.writer.write({
        realm: 'acme',
        channel: estate,
        caller,
        operations,
      })
      await expect(swapped).rejects.toMatchObject({
        code: 'forbidden',
      })
    }
    expect(gains(before, await principalsOf(server, 'acme'), effectivePermissions(few))).toEqual([])
  })

  it('does not come from taking the roles from a client first', async () => {
    const few: Permission[] = ['manage-clients']
    const stripped = { clientId: 'pipeline', serviceAccountsEnabled: true }
    await expect(put(ClientKind, 'pipeline', stripped, few)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'client "pipeline" holds realm-admin, which you do not',
    })
  })

  it('does not come from a document that is written in place of a user who exists', async () => {
    const few: Permission[] = ['manage-users']
    const made = await server.admin.send('POST', `${base}/users`, { username: 'Boss' })
    await server.admin.send('POST', `${base}/users/${made.body.userId}/roles`, { name: 'admin' })
    const before = await principalsOf(server, 'acme')
    for (const username of ['Boss', 'boss', 'ｂｏｓｓ'])
      await expect(put(User, username, { username }, few)).rejects.toMatchObject({
        code: expect.stringMatching(/^(forbidden|validation)$/),
      })
    expect(gains(before, await principalsOf(server, 'acme'), new Set(few))).toEqual([])
  })

  it('does not come from importing somebody who gets a default role with more than the caller has', async () => {
    await server.createRealm('open')
    const at = '/admin/realms/open'
    const { body: settings } = await server.admin.send('GET', `${at}/settings`)
    await server.admin.send('PUT', `${at}/settings`, { ...settings, defaultRole: 'auditor' })
    const caller = await server.userWith('open', ['manage-users'])
    const users = [{ username: 'planted', credentials: [{ type: 'password', value: phc }] }]
    expect((await caller.send('POST', `${at}/users/import`, { users })).status).toBe(403)
    const bare = await caller.send('POST', `${at}/users/import`, { users: [{ username: 'bare' }] })
    expect(bare.status, JSON.stringify(bare.body)).toBe(200)
    expect(
      (await caller.send('PUT', `${at}/users/bare/password`, { newPassword: 'nobody guesses it' }))
        .status,
    ).toBe(403)
  })

  describe('who holds a permission', () => {
    it('may hand it on: to a user, into a role, and as the default role', async () => {
      const few: Permission[] = ['manage-users', 'manage-roles', 'manage-realm']
      const caller = await server.userWith('acme', few)
      const own = await roleIdOf(caller)
      const { body } = await server.admin.send('GET', `${base}/roles/${own}`)
      const user = await caller.send('POST', `${base}/users`, { username: 'deputy' })
      expect(user.status).toBe(201)
      const one = `${base}/users/${user.body.userId}`
      expect((await caller.send('POST', `${one}/roles`, { name: body.name })).status).toBe(204)
      const composite = { name: 'composed', composites: [body.name] }
      expect((await caller.send('POST', `${base}/roles`, composite)).status).toBe(201)
      const { body: settings } = await caller.send('GET', `${base}/settings`)
      const changed = await caller.send('PUT', `${base}/settings`, {
        ...settings,
        defaultRole: 'composed',
      })
      expect(changed.status).toBe(200)
      await caller.send('PUT', `${base}/settings`, settings)
      const deputy = await server.signedIn('acme', 'deputy')
      expect((await deputy.send('GET', `${base}/roles`)).status).toBe(200)
    })

    it('may change who holds no more than they do, and a view along with its manage', async () => {
      const caller = await server.userWith('acme', ['manage-users'])
      for (const permissions of [[], ['view-users'], ['manage-users']] as Permission[][]) {
        const target = await server.userWith('acme', permissions)
        const one = `${base}/users/${target.userId}`
        const newPassword = 'a long password that nobody guesses'
        expect((await caller.send('PUT', `${one}/password`, { newPassword })).status).toBe(204)
        const { body } = await caller.send('GET', one)
        expect((await caller.send('PUT', one, { ...body, enabled: false })).status).toBe(200)
        expect((await caller.send('DELETE', one)).status).toBe(204)
      }
      const target = await server.userWith('acme', ['view-events'])
      expect((await caller.send('DELETE', `${base}/users/${target.userId}`)).status).toBe(403)
    })

    it('may rename and move what grants no more, with the stronger ones below and around it', async () => {
      const caller = await server.userWith('acme', [
        'manage-roles',
        'manage-organizations',
        'view-events',
      ])
      await put(Role, 'lookout', { name: 'lookout', permissions: ['view-events'] })
      await put(Group, '/Tower', { name: 'Tower', roles: ['lookout'] })
      await put(Group, '/Tower/Top', { name: 'Top', roles: ['auditor'] })
      const send = async (path: string, body: object) => {
        const answer = await caller.send('PUT', `${base}${path}`, body)
        expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        return answer.body
      }
      await send('/roles/lookout', { name: 'watchman' })
      const tower = await send(`/groups/${encodeURIComponent('/Tower')}`, { name: 'Keep' })
      expect(tower.roleNames).toEqual(['watchman'])
      const top = await caller.send('POST', `${base}/groups`, { name: 'Castle' })
      await send(`/groups/${tower.groupId}`, { name: 'Keep', parentId: top.body.groupId })
      const found = await caller.send(
        'GET',
        `${base}/groups/${encodeURIComponent('/Castle/Keep/Top')}`,
      )
      expect(found.body.roleNames).toEqual(['auditor'])
    })

    it('may see the secret of a client that holds no more, where secrets can be seen', async () => {
      const caller = await server.userWith('acme', ['manage-clients'])
      const seen = await caller.send('GET', `${base}/clients/helper/secret`)
      expect(seen).toMatchObject({ status: 200, body: { value: expect.any(String) } })
    })

    it('may change a client whose service account holds no more than they do', async () => {
      const caller = await server.userWith('acme', ['manage-clients', 'view-events'])
      await put(Role, 'watch', { name: 'watch', permissions: ['view-events'] })
      await put(ClientKind, 'watcher', { clientId: 'watcher', serviceAccountRoles: ['watch'] })
      const changed = await caller.send('PUT', `${base}/clients/watcher`, {
        clientId: 'watcher',
        secret,
      })
      expect(changed.status, JSON.stringify(changed.body)).toBe(200)
      expect((await caller.send('DELETE', `${base}/clients/watcher`)).status).toBe(204)
    })

    it('may rename or delete a role that a stronger managed user holds', async () => {
      await put(Role, 'badge', { name: 'badge' })
      await put(User, 'decorated', { username: 'decorated', roles: ['admin', 'badge'] })
      const caller = await server.userWith('acme', ['manage-roles'])
      const renamed = await caller.send('PUT', `${base}/roles/badge`, { name: 'medal' })
      expect(renamed.status, JSON.stringify(renamed.body)).toBe(200)
      const { body } = await server.admin.send('GET', `${base}/users/decorated`)
      expect(body.roles).toEqual(['admin', 'medal', 'user'])
      expect((await caller.send('DELETE', `${base}/roles/medal`)).status).toBe(204)
      const after = await server.admin.send('GET', `${base}/users/decorated`)
      expect(after.body.roles).toEqual(['admin', 'user'])
    })
  })
})
