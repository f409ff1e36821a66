import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHasher } from '#server/platform/passwords/hasher.ts'
import { GuardFailedError } from '#server/storage/contract.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import {
  type Accounts,
  addRealm,
  addUser,
  breachOf,
  createAccounts,
  createCountingHasher,
  createTestClock,
  defaultSettings,
} from '../users/fixture.ts'

const settings = defaultSettings()
const remembering = (passwordHistory: number) => ({
  passwordPolicy: { ...settings.passwordPolicy, passwordHistory },
})

describe.each(backends)('passwords on $name', (backend) => {
  let open: OpenBackend
  let accounts: Accounts
  let realm: string

  beforeAll(async () => {
    open = await backend.open()
    accounts = createAccounts(open.storage, { breach: breachOf('correct horse battery') })
    realm = await addRealm(open.storage)
  })
  afterAll(() => open.close())

  let count = 0
  const newUser = (password?: string): Promise<UserRow> => {
    count += 1
    const username = `user-${count}`
    return addUser(accounts, realm, {
      username,
      email: `${username}@x.example`,
      ...(password === undefined ? {} : { password }),
    })
  }
  const secrets = async (user: UserRow): Promise<string[]> => {
    const rows = await open.storage.db
      .selectFrom('credentials')
      .select('secret')
      .where('user_id', '=', user.id)
      .execute()
    return rows.map(({ secret }) => secret)
  }
  const history = async (user: UserRow): Promise<string[]> => {
    const rows = await open.storage.db
      .selectFrom('password_history')
      .select('hash')
      .where('user_id', '=', user.id)
      .orderBy('created_at')
      .execute()
    return rows.map(({ hash }) => hash)
  }
  /** Sets a password, or gives the codes of why not. */
  const change = async (user: UserRow, password: string, policies = remembering(5)) => {
    const { statements, errors } = await accounts.passwords.prepare(policies, user, password)
    if (errors.length > 0) {
      expect(statements).toEqual([])
      return errors.map(({ field, code }) => `${field} ${code}`)
    }
    await open.storage.commit(statements)
    accounts.clock.advance(1)
    return 'changed'
  }

  it('refuses what policy, breach list and history refuse, and says which', async () => {
    const user = await newUser('first password 1')
    expect(await change(user, 'short')).toEqual(['/newPassword password.minLength'])
    expect(await change(user, user.email ?? '')).toEqual(['/newPassword password.notEmail'])
    expect(await change(user, 'correct horse battery')).toEqual(['/newPassword password.breached'])
    expect(await change(user, 'first password 1')).toEqual(['/newPassword password.history'])
    expect(await secrets(user)).toEqual(['new$first password 1'])
  })

  it('asks the breach list only where the realm wants it', async () => {
    const user = await newUser()
    const passwordPolicy = { ...settings.passwordPolicy, breachCheck: false }
    expect(await change(user, 'correct horse battery', { passwordPolicy })).toBe('changed')
  })

  it('remembers as many passwords as the realm says, the current one among them', async () => {
    const user = await newUser('password number 0')
    for (const number of [1, 2, 3, 4])
      expect(await change(user, `password number ${number}`, remembering(3))).toBe('changed')
    expect(await history(user)).toEqual(['new$password number 2', 'new$password number 3'])
    expect(await secrets(user)).toEqual(['new$password number 4'])
    for (const number of [2, 3, 4])
      expect(await change(user, `password number ${number}`, remembering(3))).toEqual([
        '/newPassword password.history',
      ])
    expect(await change(user, 'password number 1', remembering(3))).toBe('changed')
  })

  it('remembers fewer as soon as the realm says so', async () => {
    const user = await newUser('password number 0')
    for (const number of [1, 2, 3]) await change(user, `password number ${number}`)
    expect(await change(user, 'password number 1', remembering(4))).toEqual([
      '/newPassword password.history',
    ])
    expect(await change(user, 'password number 1', remembering(2))).toBe('changed')
  })

  it('forgets all where the realm remembers none', async () => {
    const user = await newUser('password number 0')
    expect(await change(user, 'password number 0', remembering(0))).toBe('changed')
    expect(await history(user)).toEqual([])
  })

  it('leaves one password when two are set at once', async () => {
    const user = await newUser()
    const wanted = Array.from({ length: 6 }, (_, index) => `parallel password ${index}`)
    const prepared = await Promise.all(
      wanted.map((password) => accounts.passwords.prepare(settings, user, password)),
    )
    await Promise.all(prepared.map(({ statements }) => open.storage.commit(statements)))
    expect(await secrets(user)).toHaveLength(1)
    const all = [...(await secrets(user)), ...(await history(user))]
    expect(all.every((secret) => wanted.includes(secret.slice(4)))).toBe(true)
  })

  it('sets no password for a user who is gone', async () => {
    const user = await newUser()
    const { statements } = await accounts.passwords.prepare(settings, user, 'a fine password')
    await open.storage.commit(accounts.users.deleteStatements(user.id, 1))
    await expect(open.storage.commit(statements)).rejects.toThrow()
    expect(await secrets(user)).toEqual([])
  })

  it('takes a hash made elsewhere in its standard form, and nothing that is none', async () => {
    const user = await newUser('before it all')
    const salt = 'c2FsdHNhbHRzYWx0c2FsdA'
    const digest = 'ZGlnZXN0ZGlnZXN0ZGlnZXN0ZGlnZXN0ZGlnZXN0MTI'
    const given = `$argon2id$v=19$t=3,m=65536,p=4$${salt}$${digest}`
    const { statements, errors } = accounts.passwords.acceptHash(settings, user, given)
    expect(errors).toEqual([])
    await open.storage.commit(statements)
    expect(await secrets(user)).toEqual([`$argon2id$v=19$m=65536,t=3,p=4$${salt}$${digest}`])
    expect(await history(user)).toEqual(['new$before it all'])
    for (const wrong of ['x', '$2b$12$abc', given.replace('65536', '9999999')])
      expect(accounts.passwords.acceptHash(settings, user, wrong)).toMatchObject({
        statements: [],
        errors: [{ field: '/passwordHash', code: 'format' }],
      })
  })

  it('evaluates one hash for a wrong password, for no password and for a right one', async () => {
    const { hasher, passwords } = accounts
    const stored = { id: 'x', secret: 'new$right' }
    const who = { realm, name: 'user', userId: 'user' }
    for (const [given, password, matches] of [
      [stored, 'right', true],
      [stored, 'wrong', false],
      [null, 'right', false],
    ] as const) {
      const before = hasher.evaluated
      expect((await passwords.verify(who, given, password)).matches).toBe(matches)
      expect(hasher.evaluated - before).toBe(1)
    }
  })

  it('costs a wrong password of a hash from elsewhere a decoy more, as a right one costs a new hash (CVE-2026-4633)', async () => {
    const { hasher, passwords } = accounts
    const stored = { id: 'x', secret: 'old$right' }
    const who = { realm, name: 'user', userId: 'user' }
    for (const password of ['right', 'wrong']) {
      const before = hasher.evaluated + hasher.hashed
      await passwords.verify(who, stored, password)
      expect(hasher.evaluated + hasher.hashed - before, password).toBe(2)
    }
  })

  describe('of names that nobody has', () => {
    const zeros = (length: number): string => 'A'.repeat(length)
    const own = `$argon2id$v=19$m=19456,t=2,p=1$${zeros(22)}$${zeros(43)}`
    const costly = {
      [`$2b$12$${'.'.repeat(53)}`]: `$2a$12$${'abcdefgh'.repeat(7).slice(0, 53)}`,
      [`$pbkdf2-sha512$i=210000$${zeros(22)}$${zeros(86)}`]: `$pbkdf2-sha512$210000$${'b'.repeat(22)}$${'c'.repeat(85)}A`,
      [`$scrypt$ln=15,r=8,p=1$${zeros(22)}$${zeros(43)}`]: `$scrypt$ln=15,r=8,p=1$${'b'.repeat(22)}$${'c'.repeat(43)}`,
      [`$argon2id$v=19$m=65536,t=4,p=1$${zeros(22)}$${zeros(43)}`]: `$argon2id$v=19$m=65536,t=4,p=1$${zeros(21)}Q$${zeros(42)}E`,
    }
    const names = Array.from({ length: 60 }, (_, i) => `nobody-${i}`)

    /** The hashes that are verified for a sign-in attempt; `decoy` stands for the decoy hash. */
    const watched = (clock = createTestClock()) => {
      const calls: string[] = []
      const { needsRehash } = createHasher({
        name: 'none',
        hash: async () => '',
        verify: async () => false,
      })
      const hasher = createCountingHasher()
      hasher.verify = async (hash) => calls.push(hash) === 0
      hasher.verifyDecoy = async () => calls.push('decoy') === 0 && false
      hasher.needsRehash = needsRehash
      const { passwords } = createAccounts(open.storage, { hasher, clock })
      return async (of: string, name: string, secret?: string): Promise<string> => {
        const stored = secret === undefined ? null : { id: 'x', secret }
        await passwords.verify({ realm: of, name }, stored, 'guess')
        return calls.splice(0).join(' ')
      }
    }
    const realmWith = async (...hashes: string[]): Promise<string> => {
      const name = await addRealm(open.storage)
      for (const [index, hash] of hashes.entries()) {
        const user = await addUser(accounts, name, { username: `user-${index}`, password: 'x' })
        await open.storage.commit([
          {
            sql: `update credentials set secret = '${hash}' where user_id = '${user.id}'`,
            parameters: [],
          },
        ])
      }
      return name
    }

    it.each(Object.entries(costly))(
      'costs what hashes from elsewhere cost where there are no others: %s',
      async (like, hash) => {
        const imported = await realmWith(hash)
        const tried = watched()
        const cost = await tried(imported, 'user-0', hash)
        for (const name of names.slice(0, 5))
          expect((await tried(imported, name)).replace(like, hash)).toBe(cost)
      },
    )

    it('costs the one or the other where there are several, the same on every node', async () => {
      const mixed = await realmWith(own, ...Object.values(costly))
      const [here, there] = [watched(), watched()]
      const seen = new Set<string>()
      for (const name of names) {
        const cost = await here(mixed, name)
        seen.add(cost)
        expect([await here(mixed, name.toUpperCase()), await there(mixed, name)]).toEqual([
          cost,
          cost,
        ])
      }
      expect([...seen].sort()).toEqual(
        [own, ...Object.keys(costly)]
          .map((like) => (like.startsWith('$argon2id') ? like : `${like} decoy`))
          .sort(),
      )
    })

    it('follows what a sign-in shows and what a later look at the realm does', async () => {
      const [[like = '', hash = ''] = []] = Object.entries(costly)
      const empty = await addRealm(open.storage)
      const clock = createTestClock()
      const tried = watched(clock)
      expect(await tried(empty, 'nobody')).toBe('decoy')
      await tried(empty, 'new', hash)
      expect(await tried(empty, 'nobody')).toBe(`${like} decoy`)
      clock.advance(60)
      expect(await tried(empty, 'nobody')).toBe('decoy')
    })
  })

  it('stores a stronger hash when an old one matches, unless the password changed meanwhile', async () => {
    const user = await newUser('a fine password')
    await open.storage.commit([
      {
        sql: `update credentials set secret = 'old$a fine password' where user_id = '${user.id}'`,
        parameters: [],
      },
    ])
    const found = await accounts.users.findByLogin(realm, user.username, { withEmail: false })
    const stored = found?.password ?? null
    const { statements } = await accounts.passwords.verify(
      { realm, name: user.username, userId: user.id },
      stored,
      'a fine password',
    )
    await open.storage.commit(statements)
    expect(await secrets(user)).toEqual(['new$a fine password'])
    await expect(open.storage.commit(statements)).rejects.toThrow(
      new GuardFailedError(`password:${user.id}`),
    )
  })
})
