import { CompiledQuery, createQueryId, type RootOperationNode } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Problem } from '#schemas/problems.ts'
import { newId } from '#server/platform/ids.ts'
import { ConstraintError, GuardFailedError, type Statement } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { changedUserRow, newUserRow, userRecord } from '#server/users/user-record.ts'
import { createUsers } from '#server/users/users.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import { type Accounts, addRealm, addUser, createAccounts } from './fixture.ts'

describe.each(backends)('users on $name', (backend) => {
  let open: OpenBackend
  let accounts: Accounts
  let realm: string

  beforeAll(async () => {
    open = await backend.open()
    accounts = createAccounts(open.storage)
  })
  afterAll(() => open.close())

  const inRealm = async (): Promise<void> => {
    realm = await addRealm(open.storage)
  }
  const row = (username: string, email: string | null = null): UserRow =>
    newUserRow({ username, email }, { id: newId(), realm, now: 1 })
  const names = async (): Promise<string[]> => {
    const rows = await open.storage.db
      .selectFrom('user_names')
      .select('name')
      .where('realm', '=', realm)
      .orderBy('name')
      .execute()
    return rows.map(({ name }) => name)
  }
  /** Commits, and gives what a caller would be told. */
  const write = async (statements: readonly Statement[], user: UserRow): Promise<unknown> => {
    try {
      await open.storage.commit(statements)
      return undefined
    } catch (error) {
      return accounts.users.explain(error, user)
    }
  }

  it('finds a user by id and by any spelling of the username, in the own realm only', async () => {
    await inRealm()
    const anna = await addUser(accounts, realm, { username: 'Anna' })
    const other = await addRealm(open.storage)
    expect(await accounts.users.find(realm, anna.id.toUpperCase())).toEqual(anna)
    expect(await accounts.users.find(realm, 'ＡＮＮＡ')).toEqual(anna)
    expect(await accounts.users.find(other, anna.id)).toBeUndefined()
    expect(await accounts.users.find(realm, 'a\0b')).toBeUndefined()
  })

  it('signs in by email only where the realm allows it', async () => {
    await inRealm()
    const anna = await addUser(accounts, realm, {
      username: 'anna',
      email: 'Anna@shop.example',
      password: 'x',
    })
    const find = accounts.users.findByLogin
    expect((await find(realm, 'anna@SHOP.example', { withEmail: true }))?.user).toEqual(anna)
    expect((await find(realm, 'anna', { withEmail: true }))?.password?.secret).toBe('new$x')
    expect(await find(realm, 'anna@shop.example', { withEmail: false })).toBeUndefined()
    expect((await find(realm, 'ANNA', { withEmail: false }))?.user.id).toBe(anna.id)
    expect(await find(realm, 'nobody', { withEmail: true })).toBeUndefined()
    expect(await find(realm, 'a\0b', { withEmail: true })).toBeUndefined()
    expect(await find(realm, '\ud800', { withEmail: true })).toBeUndefined()
  })

  it('keeps one name where username and email are the same, and follows changes of both', async () => {
    await inRealm()
    const before = await addUser(accounts, realm, { username: 'A@x.example', email: 'a@X.example' })
    expect(await names()).toEqual(['a@x.example'])
    const renamed = changedUserRow(before, { username: 'anna' }, 2)
    await open.storage.commit(accounts.users.updateStatements(before, renamed))
    expect(await names()).toEqual(['a@x.example', 'anna'])
    const without = changedUserRow(renamed, { email: null }, 3)
    await open.storage.commit(accounts.users.updateStatements(renamed, without))
    expect(await names()).toEqual(['anna'])
    await open.storage.commit(accounts.users.deleteStatements(before.id, 1))
    expect(await names()).toEqual([])
  })

  it('answers 409 and names the field that somebody else has', async () => {
    await inRealm()
    await addUser(accounts, realm, { username: 'anna', email: 'anna@x.example' })
    const attempts: [UserRow, string[]][] = [
      [row('ANNA'), ['/username']],
      [row('ben', 'ANNA@x.example'), ['/email']],
      [row('Anna\uff20x.example'), ['/username']],
      [row('ａｎｎａ', 'anna@x.example'), ['/username', '/email']],
    ]
    for (const [user, fields] of attempts) {
      const problem = await write(accounts.users.createStatements(user), user)
      expect(problem).toBeInstanceOf(Problem)
      expect(problem).toMatchObject({ code: 'conflict', status: 409 })
      expect((problem as Problem).errors.map(({ field }) => field)).toEqual(fields)
      expect((problem as Problem).cause).toBeInstanceOf(ConstraintError)
    }
    expect(await names()).toEqual(['anna', 'anna@x.example'])
  })

  it('lets one of two users have a name when one wants it as username and one as email', async () => {
    await inRealm()
    for (let round = 0; round < 5; round += 1) {
      const name = `n${round}@x.example`
      const wanting = Array.from({ length: 8 }, (_, index) =>
        index % 2 === 0 ? row(name) : row(`user${round}-${index}`, name.toUpperCase()),
      )
      const outcomes = await Promise.all(
        wanting.map((user) => write(accounts.users.createStatements(user), user)),
      )
      expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(1)
      for (const outcome of outcomes)
        if (outcome !== undefined) expect(outcome).toMatchObject({ code: 'conflict' })
    }
  })

  it('refuses to overwrite a change that came between', async () => {
    await inRealm()
    const before = await addUser(accounts, realm, { username: 'anna' })
    const first = changedUserRow(before, { firstName: 'Anna' }, 2)
    const second = changedUserRow(before, { lastName: 'Berg' }, 2)
    const outcomes = await Promise.allSettled(
      [first, second].map((after) =>
        open.storage.commit(accounts.users.updateStatements(before, after)),
      ),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refused = outcomes.find((outcome) => outcome.status === 'rejected')
    expect(refused?.reason).toBeInstanceOf(GuardFailedError)
    await expect(
      open.storage.commit(accounts.users.deleteStatements(newId(), 1)),
    ).rejects.toBeInstanceOf(GuardFailedError)
  })

  it('refuses wrong names in a row, with a pointer to each', async () => {
    await inRealm()
    const wrong = { username: 'a b', email: 'x', firstName: 'a\0', lastName: '\ud800' }
    let problem: unknown
    try {
      newUserRow(wrong, { id: newId(), realm, now: 1 })
    } catch (error) {
      problem = error
    }
    expect(problem).toMatchObject({ status: 400 })
    expect((problem as Problem).errors.map(({ field }) => field)).toEqual([
      '/username',
      '/email',
      '/firstName',
      '/lastName',
    ])
  })

  it('lists by prefix of username or email, ordered by username, with the total', async () => {
    await inRealm()
    await addUser(accounts, realm, { username: 'Zoe', email: 'ann.z@x.example' })
    await addUser(accounts, realm, { username: 'anna' })
    await addUser(accounts, realm, { username: 'Annika', email: 'annika@x.example' })
    await addUser(accounts, realm, { username: 'ann_x' })
    await addUser(accounts, realm, { username: 'ben', email: 'b@ann.example' })
    const list = async (options: { search?: string; first?: number; max?: number }) => {
      const { users, total } = await accounts.users.list(realm, options)
      return [users.map(({ username }) => username), total]
    }
    expect(await list({ search: 'ＡＮＮ' })).toEqual([['ann_x', 'anna', 'Annika', 'Zoe'], 4])
    expect(await list({ search: 'ann', first: 1, max: 2 })).toEqual([['anna', 'Annika'], 4])
    expect(await list({})).toEqual([['ann_x', 'anna', 'Annika', 'ben', 'Zoe'], 5])
    expect(await list({ search: 'ann%' })).toEqual([[], 0])
    expect(await list({ search: 'a\0' })).toEqual([[], 0])
  })

  it('searches by index and does not look at every user', async () => {
    await inRealm()
    const { db, dialect } = open.storage
    const numbers =
      dialect.name === 'sqlite'
        ? 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000) select i from n'
        : 'select i from generate_series(1, 20000) as n (i)'
    const columns = `'u' || i, '${realm}', 'u' || i, 'u' || i, 'e' || i, 'e' || i,
      0, null, null, 1, 0, 0, '{}', '[]', 1, 1, 1`
    await open.storage.commit([
      {
        sql: `insert into users select ${columns} from (${numbers}) as all_numbers`,
        parameters: [],
      },
      // PostgreSQL gathers statistics by itself, in its own time; SQLite has none, in a server as here.
      ...(dialect.name === 'sqlite' ? [] : [{ sql: 'analyze users', parameters: [] }]),
    ])
    const asked: RootOperationNode[] = []
    const watched = db.withPlugin({
      transformQuery: ({ node }) => {
        asked.push(node)
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const { total } = await createUsers({ db: watched }).list(realm, { search: 'u1999' })
    expect(total).toBe(11)
    expect(asked.length).toBeGreaterThan(1)
    const explain = dialect.name === 'sqlite' ? 'explain query plan' : 'explain'
    for (const node of asked) {
      const query = db.getExecutor().compileQuery(node, createQueryId())
      const { rows } = await db.executeQuery(
        CompiledQuery.raw(`${explain} ${query.sql}`, [...query.parameters]),
      )
      const plan = JSON.stringify(rows)
      expect(plan).toMatch(/users_username|users_email/)
      // "(realm=?)" alone is a walk through all users of the realm.
      expect(plan).not.toMatch(/SCAN users|Seq Scan|\(realm=\?\)/)
    }
  })

  it('shows a user as the admin API does', async () => {
    await inRealm()
    const user = newUserRow(
      {
        username: 'anna',
        email: 'a@x.example',
        attributes: { team: ['a', 'b'] },
        requiredActions: ['UPDATE_PASSWORD'],
      },
      { id: newId(), realm, now: 7, managed: true },
    )
    const around = {
      roles: ['user', 'admin'],
      credentialTypes: ['password'],
      lockedByFailures: false,
    }
    expect(userRecord(user, around)).toEqual({
      realmId: realm,
      userId: user.id,
      username: 'anna',
      email: 'a@x.example',
      emailVerified: false,
      firstName: null,
      lastName: null,
      enabled: true,
      locked: false,
      mfaEnabled: false,
      roles: ['admin', 'user'],
      attributes: { team: ['a', 'b'] },
      requiredActions: ['UPDATE_PASSWORD'],
      managed: true,
      createdAt: 7,
    })
    expect(userRecord(user, { ...around, lockedByFailures: true }).locked).toBe(true)
    const adminLocked = changedUserRow(user, { locked: true }, 8)
    expect(userRecord(adminLocked, around).locked).toBe(true)
    expect(userRecord(user, { ...around, credentialTypes: ['password', 'otp'] }).mfaEnabled).toBe(
      true,
    )
  })
})
