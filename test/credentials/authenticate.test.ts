import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import { HasherBusyError } from '#server/platform/passwords/hasher.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { changedUserRow } from '#server/users/user-record.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import {
  type Accounts,
  addRealm,
  addUser,
  auditOf,
  createAccounts,
  createCountingHasher,
  defaultSettings,
  signIn,
} from '../users/fixture.ts'

const PASSWORD = 'right password'

describe.each(backends)('attempts to sign in on $name', (backend) => {
  let open: OpenBackend
  let accounts: Accounts
  let realm: string
  let anna: UserRow

  beforeAll(async () => {
    open = await backend.open()
  })
  afterAll(() => open.close())
  beforeEach(async () => {
    accounts = createAccounts(open.storage, { hasher: createCountingHasher(2) })
    realm = await addRealm(open.storage)
    anna = await addUser(accounts, realm, { username: 'anna', password: PASSWORD })
  })

  const attempt = (
    name: string,
    password: string,
    { settings = {}, on = accounts }: { settings?: Partial<SettingsDoc>; on?: Accounts } = {},
  ) => signIn(on, { realm, settings: defaultSettings(settings), name, password })
  const many = (count: number, one: () => Promise<string>): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, one))
  const types = async (type: string) =>
    (await auditOf(open.storage, realm)).filter((event) => event.type === type)
  const guards = () =>
    open.storage.db.selectFrom('login_guards').selectAll().where('realm', '=', realm).execute()

  it('evaluates at most the limit of 200 parallel wrong passwords (GHSA-7h8m-vrxx-vr4m)', async () => {
    const outcomes = await many(200, () => attempt('anna', 'wrong'))
    expect(new Set(outcomes)).toEqual(new Set(['failure']))
    expect(accounts.hasher.evaluated).toBe(10)
    expect(await types('LOGIN_FAILURE')).toHaveLength(200)
    expect(await types('USER_LOCKED')).toMatchObject([{ actor: anna.id }])
    expect(await attempt('anna', PASSWORD)).toBe('failure')
    expect(accounts.hasher.evaluated).toBe(10)
  })

  it('evaluates as few for a name that nobody has, and records no lock of a user', async () => {
    await many(40, () => attempt('nobody', 'wrong'))
    expect(accounts.hasher.evaluated).toBe(10)
    expect(await types('USER_LOCKED')).toEqual([])
  })

  it('lets 100 parallel right passwords of one user pass, even with one failure left', async () => {
    for (let index = 0; index < 9; index += 1) await attempt('anna', 'wrong')
    const outcomes = await many(100, () => attempt('anna', PASSWORD))
    expect(new Set(outcomes)).toEqual(new Set(['success']))
    expect(await types('LOGIN_SUCCESS')).toHaveLength(100)
    expect((await guards()).map(({ reserved }) => reserved)).toEqual([0, 0])
  })

  it('lets parallel right passwords pass one by one where a single failure locks', async () => {
    const outcomes = await many(20, () =>
      attempt('anna', PASSWORD, { settings: { failureFactor: 1 } }),
    )
    expect(new Set(outcomes)).toEqual(new Set(['success']))
  })

  it('asks the counters of the user, whichever name was given', async () => {
    const ben = { username: 'ben', email: 'ben@x.example', password: PASSWORD }
    await addUser(accounts, realm, ben)
    const settings = { failureFactor: 2 }
    await attempt('ben', 'wrong', { settings })
    await attempt('BEN@x.example', 'wrong', { settings })
    expect(await attempt('ben', PASSWORD, { settings })).toBe('failure')
    expect(await types('USER_LOCKED')).toHaveLength(1)
  })

  it('does the same work whatever is wrong, and tells the reason in the audit alone', async () => {
    const disabled = { username: 'off', password: PASSWORD, enabled: false }
    const locked = { username: 'shut', password: PASSWORD, locked: true }
    await addUser(accounts, realm, disabled)
    await addUser(accounts, realm, locked)
    await addUser(accounts, realm, { username: 'bare' })
    const cases: [string, string, string][] = [
      ['nobody', PASSWORD, 'unknown-user'],
      ['anna', 'wrong', 'wrong-password'],
      ['bare', PASSWORD, 'wrong-password'],
      ['off', PASSWORD, 'user-disabled'],
      ['shut', PASSWORD, 'user-locked'],
      ['a\0b', PASSWORD, 'unknown-user'],
      ['', '', 'unknown-user'],
    ]
    for (const [name, password, detail] of cases) {
      const before = accounts.hasher.evaluated
      expect(await attempt(name, password)).toBe('failure')
      expect(accounts.hasher.evaluated - before).toBe(1)
      expect((await types('LOGIN_FAILURE')).at(-1)).toMatchObject({ detail })
    }
  })

  it('does not sign in a user who is disabled while the password is checked', async () => {
    const { hasher, storage, users } = accounts
    const verify = hasher.verify
    hasher.verify = async (phc, password) => {
      const matches = await verify(phc, password)
      const after = changedUserRow(anna, { enabled: false }, 1)
      await storage.commit(users.updateStatements(anna, after))
      return matches
    }
    expect(await attempt('anna', PASSWORD)).toBe('failure')
    expect(await types('LOGIN_SUCCESS')).toEqual([])
    expect(await types('LOGIN_FAILURE')).toMatchObject([{ detail: 'changed-meanwhile' }])
    expect((await guards()).map(({ reserved }) => reserved)).toEqual([0, 0])
  })

  it.each([PASSWORD, 'wrong'])(
    'fails with %j when the realm is removed meanwhile',
    async (password) => {
      const { hasher, storage } = accounts
      const verify = hasher.verify
      hasher.verify = async (phc, given) => {
        const matches = await verify(phc, given)
        const sql = `delete from realms where name = '${realm}'`
        await storage.commit([{ sql, parameters: [] }])
        return matches
      }
      expect(await attempt('anna', password)).toBe('failure')
      expect(await guards()).toEqual([])
    },
  )

  it('does not accept the old password when it is replaced while it is checked', async () => {
    const { hasher, storage, passwords } = accounts
    const verify = hasher.verify
    const { statements } = await passwords.prepare(defaultSettings(), anna, 'another password')
    hasher.verify = async (phc, password) => {
      const matches = await verify(phc, password)
      await storage.commit(statements)
      return matches
    }
    expect(await attempt('anna', PASSWORD)).toBe('failure')
  })

  it('replaces a hash that is behind the times at the next sign-in', async () => {
    await open.storage.commit([
      {
        sql: `update credentials set secret = 'old$${PASSWORD}' where user_id = '${anna.id}'`,
        parameters: [],
      },
    ])
    expect(await attempt('anna', PASSWORD)).toBe('success')
    const found = await accounts.users.findByLogin(realm, 'anna', { withEmail: false })
    expect(found?.password?.secret).toBe(`new$${PASSWORD}`)
  })

  it('is busy, and counts nothing, when the hasher turns it away', async () => {
    accounts.hasher.verify = async () => {
      throw new HasherBusyError('full')
    }
    expect(await attempt('anna', 'wrong')).toBe('busy')
    expect((await guards()).every(({ failures, reserved }) => failures + reserved === 0)).toBe(true)
  })

  it('is busy when others hold every reservation and do not finish', async () => {
    const impatient = createAccounts(open.storage, { maxWaitMs: 50 })
    const settings = defaultSettings({ failureFactor: 1 })
    await impatient.bruteForce.reserve({
      realm,
      userId: anna.id,
      name: 'anna',
      address: '192.0.2.9',
      settings,
    })
    const outcome = await attempt('anna', PASSWORD, {
      settings: { failureFactor: 1 },
      on: impatient,
    })
    expect(outcome).toBe('busy')
    expect(impatient.hasher.evaluated).toBe(0)
  })
})
