/** Realms over the admin API: creation with seeds, lists, and deletion without remains. */

import { X509Certificate } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionKeys } from '#schemas/access/permissions.ts'
import { User } from '#schemas/kinds/users/user.ts'
import { newId } from '#server/platform/ids.ts'
import { createWorld, routedKinds } from '../security/admin-api/world.ts'
import { backends } from '../support/backends.ts'
import { startServer, type TestServer } from '../support/server.ts'

const estate = { via: 'changeset', origin: 'declared', owner: 'estate' } as const
const caller = { actor: 'pipeline', sourceIp: '127.0.0.1', permissions: new Set(permissionKeys) }

const shared = backends.filter(({ name }) => name === 'postgres')

describe.each(shared)('realms of two nodes on $name', (backend) => {
  let one: TestServer
  let two: TestServer
  beforeAll(async () => {
    one = await startServer(backend)
    two = await startServer(backend, { url: one.url })
  })
  afterAll(async () => {
    await two.close()
    await one.close()
  })

  it.each([0, 1, 3])('made anew begin anew on both, also after %i changes', async (changes) => {
    const realm = `acme-${changes}`
    const base = await one.createRealm(realm)
    const old = (await two.admin.send('GET', `${base}/roles`)).body
    await one.admin.send('DELETE', base)
    await one.createRealm(realm)
    for (let i = 0; i < changes; i += 1)
      await one.admin.send('POST', `${base}/roles`, { name: `new-${i}` })
    const seen = (await two.admin.send('GET', `${base}/roles`)).body
    expect(seen).toEqual((await one.admin.send('GET', `${base}/roles`)).body)
    for (const { roleId } of old)
      expect((await two.admin.send('GET', `${base}/roles/${roleId}`)).status).toBe(404)
    const made = await two.admin.send('POST', `${base}/users`, { username: 'newcomer' })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
  })
})

describe.each(backends)('realms on $name', (backend) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(backend)
  })
  afterAll(() => server.close())

  const send = (method: string, url: string, body?: unknown) => server.admin.send(method, url, body)
  const fresh = (): string => `r-${newId().slice(-12)}`
  const make = async (body: object = {}) => {
    const realm = fresh()
    const made = await send('POST', '/admin/realms', { realm, ...body })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return { realm, base: `/admin/realms/${realm}`, made }
  }

  /** How many rows each table holds of a realm: by its column, and by the documents and users of it. */
  const rowsOf = async (realm: string): Promise<Record<string, number>> => {
    const { db, dialect } = server.areas.storage
    const tables =
      dialect.name === 'sqlite'
        ? sql<{
            name: string
          }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite%'`
        : sql<{
            name: string
          }>`select tablename as name from pg_tables where schemaname = current_schema()`
    const columns = (table: string) =>
      dialect.name === 'sqlite'
        ? sql<{ name: string }>`select name from pragma_table_info(${table})`
        : sql<{ name: string }>`select column_name as name from information_schema.columns
            where table_schema = current_schema() and table_name = ${table}`
    const documents = sql`select id from documents where realm = ${realm}`
    const users = sql`select id from users where realm = ${realm}`
    const known = [realmIds.get(realm) ?? new Set<string>()].flatMap((ids) => [...ids])
    const inKnown = known.length > 0 ? sql.join(known.map((id) => sql`${id}`)) : sql`''`
    const counts: Record<string, number> = {}
    for (const { name } of (await tables.execute(db)).rows) {
      const has = new Set((await columns(name).execute(db)).rows.map((row) => row.name))
      const conditions = [
        ...(has.has('realm') ? [sql`realm = ${realm}`] : []),
        ...(name === 'realms' ? [sql`name = ${realm}`] : []),
        ...['user_id', 'role_id', 'group_id', 'from_id', 'to_id', 'document_id', 'organization_id']
          .filter((column) => has.has(column))
          .flatMap((column) => [
            sql`${sql.ref(column)} in (${documents})`,
            sql`${sql.ref(column)} in (${users})`,
            sql`${sql.ref(column)} in (${inKnown})`,
          ]),
      ]
      if (conditions.length === 0) continue
      const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(name)}
        where ${sql.join(conditions, sql` or `)}`.execute(db)
      counts[name] = Number(rows[0]?.count)
    }
    return counts
  }
  /** Ids of a realm's documents and users, remembered for after they are gone. */
  const realmIds = new Map<string, Set<string>>()
  const remember = async (realm: string): Promise<void> => {
    const { db } = server.areas.storage
    const documents = await db
      .selectFrom('documents')
      .select('id')
      .where('realm', '=', realm)
      .execute()
    const users = await db.selectFrom('users').select('id').where('realm', '=', realm).execute()
    realmIds.set(realm, new Set([...documents, ...users].map(({ id }) => id)))
  }

  /** Something of every sort, in every table that a realm has rows in. */
  const fill = async (realm: string, base: string): Promise<void> => {
    const world = createWorld(server)
    for (const kind of routedKinds) await world.thing(realm, kind)
    const group = await send('POST', `${base}/groups`, { name: 'Staff' })
    await send('POST', `${base}/roles`, { name: 'both', composites: ['user'] })
    await server.areas.realm.writer.write({
      realm,
      channel: estate,
      caller,
      operations: [
        {
          op: 'put',
          kind: User,
          key: 'managed',
          doc: { username: 'managed', roles: ['both'], groups: ['/Staff'] },
          secrets: {},
        },
      ],
    })
    const client = await server.userWith(realm, ['manage-users'])
    for (const newPassword of ['nobody guesses this one', 'nobody guesses that one'])
      await send('PUT', `${base}/users/${client.userId}/password`, { newPassword })
    await server.signedIn(realm, 'managed')
    await server.areas.storage.commit([
      {
        sql: `insert into login_guards
          (realm, subject, failures, reserved, reserved_at, locked_until, last_failure_at)
          values ('${realm}', 'user:x', 1, 0, 0, 0, 0)`,
        parameters: [],
      },
    ])
    expect(group.status).toBe(201)
  }

  it('are made, listed, read and deleted', async () => {
    const { realm, base, made } = await make({ displayName: 'A & B' })
    expect(made.body).toEqual({ realm, revision: 1, createdAt: expect.any(Number) })
    expect(made.headers['location']).toBe(base)
    expect((await send('GET', base)).body).toEqual(made.body)
    const list = await send('GET', '/admin/realms')
    expect(list.body).toContainEqual(made.body)
    const names = list.body.map((one: { realm: string }) => one.realm)
    expect(names).toContain('master')
    expect(names).toEqual([...names].sort())
    expect((await send('GET', `${base}/settings`)).body.displayName).toBe('A & B')
    expect((await send('DELETE', base)).status).toBe(204)
    expect((await send('GET', base)).status).toBe(404)
    expect((await send('DELETE', base)).status).toBe(404)
    expect((await send('GET', `${base}/roles`)).status).toBe(404)
  })

  it('hold exactly the built-in documents of /admin/realm-defaults', async () => {
    const { realm, base } = await make()
    const roles = await send('GET', `${base}/admin-roles`)
    const held = roles.body.map((one: { roleName: string; permissions: string[] }) => [
      one.roleName,
      [...one.permissions].sort(),
    ])
    expect(held).toEqual([
      ['admin', ['realm-admin']],
      ['auditor', ['view-clients', 'view-events', 'view-users']],
      ['user', []],
    ])
    const settings = (await send('GET', `${base}/settings`)).body
    expect(settings).toMatchObject({
      realmId: realm,
      displayName: null,
      logoUrl: null,
      primaryColor: null,
      backgroundColor: null,
      welcomeText: null,
      customCss: null,
      defaultRole: 'user',
      browserFlow: 'browser',
      clientSecretStorage: 'hashed',
      failureFactor: 10,
      waitIncrementSeconds: 60,
      maxFailureWaitSeconds: 900,
      maxDeltaTimeSeconds: 43_200,
      passwordPolicy: { length: 12, passwordHistory: 5, breachCheck: true },
    })
    for (const path of ['groups', 'webhooks', 'users'])
      expect((await send('GET', `${base}/${path}`)).body, path).toEqual([])
    const clients = (await send('GET', `${base}/clients`)).body
    expect(clients.map((client: { clientId: string }) => client.clientId)).toEqual(['iamctl-cli'])
    const flows = (await send('GET', `${base}/flows`)).body
    expect(flows.every((flow: { builtIn: boolean }) => flow.builtIn)).toBe(true)
    expect(flows.map((flow: { alias: string }) => flow.alias)).toContain('browser')
    const templates = (await send('GET', `${base}/messaging/templates`)).body
    expect(templates.map((one: { templateKey: string }) => one.templateKey).sort()).toEqual([
      'account-locked',
      'agent-review',
      'ciba-request',
      'ciba-request',
      'email-changed',
      'email-changed-undo',
      'invitation',
      'magic-link-email',
      'mfa-push',
      'new-device',
      'otp-email',
      'otp-sms',
      'reset-password',
      'verify-email',
    ])

    const { db } = server.areas.storage
    const keys = await db
      .selectFrom('signing_keys')
      .selectAll()
      .where('realm', '=', realm)
      .execute()
    expect(keys).toMatchObject([{ algorithm: 'RSA', status: 'ACTIVE', rotated_at: null }])
    const certificate = new X509Certificate(Buffer.from(keys[0]?.certificate ?? '', 'base64'))
    expect(certificate.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')).toBe(
      keys[0]?.public_key,
    )
    expect(keys[0]?.private_key).not.toContain('PRIVATE')

    const defaults = (await send('GET', '/admin/realm-defaults')).body
    const stored = await db
      .selectFrom('documents')
      .select(['kind', 'body', 'origin'])
      .where('realm', '=', realm)
      .execute()
    expect(new Set(stored.map(({ origin }) => origin))).toEqual(new Set(['built-in']))
    const told = Object.values(defaults)
      .flat()
      .map((doc) => JSON.stringify(doc))
    expect(stored.map(({ body }) => JSON.stringify(JSON.parse(body))).sort()).toEqual(told.sort())
  })

  it('have an administrator only where a password is given, who can then sign in', async () => {
    const none = await make()
    expect((await send('GET', `${none.base}/users`)).body).toEqual([])
    const password = 'a first password that nobody guesses'
    const { realm, base } = await make({ adminPassword: password })
    const [admin] = (await send('GET', `${base}/users`)).body
    expect(admin).toMatchObject({ username: 'admin', roles: ['admin', 'user'], managed: false })
    const named = await make({ adminPassword: password, adminUsername: 'root' })
    expect((await send('GET', `${named.base}/users`)).body).toMatchObject([{ username: 'root' }])
    const settings = await server.areas.realm.settingsOf(realm)
    if (!settings) throw new Error('no settings')
    const attempt = await server.areas.credentials.authenticator.attempt(
      { realm, settings, name: 'admin', password, address: '127.0.0.1' },
      () => ({ statements: [], events: [], value: null }),
    )
    expect(attempt.outcome).toBe('success')
    const client = await server.signedIn(realm, 'admin')
    expect((await client.send('GET', `${base}/roles`)).status).toBe(200)
    expect((await client.send('GET', '/admin/realms')).status).toBe(401)
  })

  it('are not made at all where the administrator cannot be', async () => {
    for (const [body, field] of [
      [{ adminPassword: 'short' }, '/adminPassword'],
      [{ adminPassword: 'password1234' }, '/adminPassword'],
      [{ adminPassword: 'nobody guesses this one', adminUsername: 'a b' }, '/adminUsername'],
      [{ adminPassword: 'nobody guesses this one', adminUsername: '' }, '/adminUsername'],
      [{ adminPassword: 1 }, '/adminPassword'],
      [{ displayName: 'x'.repeat(256) }, '/displayName'],
      [{ surprise: 1 }, '/surprise'],
    ] as const) {
      const realm = fresh()
      const answer = await send('POST', '/admin/realms', { realm, ...body })
      expect(answer.status, JSON.stringify(body)).toBe(400)
      expect(answer.body.errors[0].field).toBe(field)
      expect((await send('GET', `/admin/realms/${realm}`)).status).toBe(404)
    }
  })

  it('have names that fit into a path, and none that means something else', async () => {
    for (const realm of [
      'admin',
      'realms',
      'monitoring',
      'v3',
      'interactive-docs',
      'assets',
      '.well-known',
      '',
      '-a',
      '.a',
      '_a',
      'Admin',
      'V3',
      'a b',
      'a/b',
      'a|b',
      'ä',
      'a\n',
      'a\u0000',
      '..',
      '%61',
      'x'.repeat(64),
      1,
      null,
    ]) {
      const answer = await send('POST', '/admin/realms', { realm })
      expect(answer.status, JSON.stringify(realm)).toBe(400)
      expect(answer.body.errors[0].field).toBe('/realm')
    }
    for (const realm of ['0', 'a-', 'My_Realm.v1', 'b..', 'x'.repeat(63)])
      expect((await send('POST', '/admin/realms', { realm })).status, realm).toBe(201)
  })

  it('keep the case of their names, in which alone no two differ', async () => {
    const lower = fresh()
    const upper = lower.toUpperCase()
    expect((await send('POST', '/admin/realms', { realm: upper })).status).toBe(201)
    const detail = `realm "${lower}" differs from "${upper}" in case alone`
    expect(await send('POST', '/admin/realms', { realm: lower })).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail },
    })
    expect((await send('POST', '/admin/realms', { realm: 'MASTER' })).status).toBe(409)
    expect((await send('GET', `/admin/realms/${lower}`)).status).toBe(404)
    const known = await server.anonymous.send(
      'GET',
      `/realms/${upper}/.well-known/openid-configuration`,
    )
    expect(known.body.issuer).toBe(`${server.baseUrl}/realms/${upper}`)
    const { status } = await server.anonymous.send(
      'GET',
      `/realms/${lower}/.well-known/openid-configuration`,
    )
    expect(status).toBe(404)
    const name = fresh()
    const answers = await Promise.all(
      [name, name.toUpperCase(), `R${name.slice(1)}`].map((realm) =>
        send('POST', '/admin/realms', { realm }),
      ),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409])
  })

  it('are made once: a second with the name is 409, also at the same moment', async () => {
    const { realm } = await make()
    expect(await send('POST', '/admin/realms', { realm })).toMatchObject({
      status: 409,
      body: { code: 'conflict' },
    })
    expect((await send('POST', '/admin/realms', { realm: 'master' })).status).toBe(409)
    const name = fresh()
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => send('POST', '/admin/realms', { realm: name })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
    const keys = await server.areas.storage.db
      .selectFrom('signing_keys')
      .select('id')
      .where('realm', '=', name)
      .execute()
    expect(keys).toHaveLength(1)
  })

  it('deleted leave no row in any table, and the others keep theirs', async () => {
    const kept = await make()
    const { realm, base } = await make()
    await fill(kept.realm, kept.base)
    await fill(realm, base)
    await remember(realm)
    const before = await rowsOf(kept.realm)
    const full = await rowsOf(realm)
    for (const table of [
      'documents',
      'document_refs',
      'revisions',
      'changes',
      'users',
      'user_names',
      'credentials',
      'password_history',
      'user_roles',
      'user_groups',
      'sessions',
      'login_guards',
      'signing_keys',
      'audit_events',
    ])
      expect(full[table], table).toBeGreaterThan(0)
    expect((await send('DELETE', base)).status).toBe(204)
    const left = Object.entries(await rowsOf(realm)).filter(([, count]) => count > 0)
    expect(left).toEqual([])
    expect(await rowsOf(kept.realm)).toEqual(before)
  })

  it.each([
    [0, 0],
    [0, 2],
    [1, 0],
    [2, 2],
    [3, 1],
  ])(
    'made anew under an old name begin anew: %i changes before, %i after',
    async (before, after) => {
      const { realm, base } = await make({ adminPassword: 'nobody guesses this one' })
      const session = await server.signedIn(realm, 'admin')
      for (let i = 0; i < before; i += 1)
        await send('PUT', `${base}/roles/user`, { name: 'user', description: `changed ${i}` })
      const old = (await send('GET', `${base}/roles`)).body
      await send('GET', `${base}/settings`)
      await send('DELETE', base)
      expect((await send('POST', '/admin/realms', { realm })).status).toBe(201)
      for (let i = 0; i < after; i += 1) await send('POST', `${base}/roles`, { name: `new-${i}` })

      const { body } = await send('GET', `${base}/roles`)
      const added = Array.from({ length: after }, (_, i) => `new-${i}`)
      expect(body.map(({ name }: { name: string }) => name)).toEqual([
        'admin',
        'auditor',
        ...added,
        'user',
      ])
      expect(body.at(-1).description).toBe('Everybody.')
      for (const { roleId } of old)
        expect((await send('GET', `${base}/roles/${roleId}`)).status).toBe(404)
      expect((await send('GET', `${base}/users`)).body).toEqual([])
      expect((await session.send('GET', `${base}/roles`)).status).toBe(401)
      expect((await send('GET', `${base}/events?size=500`)).body.items).toHaveLength(after)
      expect((await send('GET', base)).body.revision).toBe(1 + after)
      const made = await send('POST', `${base}/users`, { username: 'newcomer' })
      expect(made, JSON.stringify(made.body)).toMatchObject({
        status: 201,
        body: { roles: ['user'] },
      })
    },
  )

  it('with the name master stay', async () => {
    expect(await send('DELETE', '/admin/realms/master')).toMatchObject({
      status: 409,
      body: { code: 'built-in' },
    })
    expect((await send('GET', '/admin/realms/master')).status).toBe(200)
  })

  it('are made and deleted with an event in master each', async () => {
    const { realm, base } = await make()
    await send('DELETE', base)
    const { body } = await send('GET', '/admin/realms/master/events?size=2')
    expect(body.items).toMatchObject([
      { type: 'ADMIN_DELETE', resourceType: 'realms', resourceId: realm, outcome: 'SUCCESS' },
      {
        type: 'ADMIN_CREATE',
        resourceType: 'realms',
        resourceId: realm,
        actor: server.admin.userId,
      },
    ])
  })

  it('that are disabled let nobody in but administrators of master', async () => {
    const { realm, base } = await make()
    const client = await server.userWith(realm, ['realm-admin'])
    const { body } = await send('GET', `${base}/settings`)
    await send('PUT', `${base}/settings`, { ...body, enabled: false })
    expect((await client.send('GET', `${base}/roles`)).status).toBe(401)
    expect((await send('GET', `${base}/roles`)).status).toBe(200)
    const master = (await send('GET', '/admin/realms/master/settings')).body
    await send('PUT', '/admin/realms/master/settings', { ...master, enabled: false })
    expect((await send('GET', '/admin/realms')).status).toBe(200)
    await send('PUT', '/admin/realms/master/settings', master)
  })
})
