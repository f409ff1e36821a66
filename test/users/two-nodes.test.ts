import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { backends, type OpenBackend } from '../support/backends.ts'
import {
  type Accounts,
  addRealm,
  addUser,
  auditOf,
  createAccounts,
  createCountingHasher,
  createTestClock,
  defaultSettings,
  signIn,
} from './fixture.ts'

describe.each(backends)('attempts to sign in at two nodes on one $name', (backend) => {
  it('tell of no more wrong passwords than at one, and let all right ones pass', async () => {
    const open = await backend.open()
    // A SQLite file has one server; two that share nothing else in it come close.
    const shared = open.storage.dialect.sharedByProcesses
    const other = shared ? await openStorage({ url: open.url }) : open.storage
    try {
      const clock = createTestClock()
      const nodes = [open.storage, other].map((storage) =>
        createAccounts(storage, { clock, hasher: createCountingHasher(2) }),
      )
      const realm = await addRealm(open.storage)
      const user = { username: 'anna', password: 'right' }
      await addUser({ ...open, clock, users: createAccounts(other).users }, realm, user)
      const settings = defaultSettings()
      const atBoth = async (password: string): Promise<string[]> => {
        const attempts = nodes.flatMap((node) =>
          Array.from({ length: 100 }, () =>
            signIn(node, { realm, settings, name: 'anna', password }),
          ),
        )
        return [...new Set(await Promise.all(attempts))]
      }
      expect(await atBoth('wrong')).toEqual(['failure'])
      const events = await auditOf(open.storage, realm)
      const evaluated = nodes.reduce((sum, { hasher }) => sum + hasher.evaluated, 0)
      if (!shared) expect(evaluated).toBe(10)
      // On PostgreSQL what was evaluated when the other node began to write is told of only as one of these.
      expect(events.filter(({ detail }) => detail === 'wrong-password')).toHaveLength(10)
      expect(events.filter(({ type }) => type === 'USER_LOCKED')).toHaveLength(1)

      clock.advance(60)
      expect(await atBoth('right')).toEqual(['success'])
    } finally {
      if (shared) await other.close()
      await open.close()
    }
  })
})

const postgres = backends.find(({ name }) => name === 'postgres')

describe.runIf(postgres !== undefined)('an attempt that another node knows nothing of', () => {
  let open: OpenBackend
  let other: Storage
  let realm: string
  let first: Accounts
  let second: Accounts
  /** Lets the first node come to the end of its hash. */
  let hashed: PromiseWithResolvers<void>
  const settings = defaultSettings()
  const anna = { username: 'anna', password: 'right' }

  beforeEach(async () => {
    if (postgres === undefined) throw new Error('PostgreSQL is not among the backends')
    open = await postgres.open()
    other = await openStorage({ url: open.url })
    const clock = createTestClock()
    const hasher = createCountingHasher()
    hashed = Promise.withResolvers()
    const { verify } = hasher
    hasher.verify = async (...given) => {
      await hashed.promise
      return verify(...given)
    }
    first = createAccounts(open.storage, { clock, hasher })
    second = createAccounts(other, { clock })
    realm = await addRealm(open.storage)
    await addUser(first, realm, anna)
    await expect.poll(() => open.storage.alone(), { timeout: 5_000 }).toBeDefined()
  })
  afterEach(async () => {
    await other.close()
    await open.close()
  })

  const attempt = (node: Accounts, password: string) =>
    signIn(node, { realm, settings, name: 'anna', password })

  /** Begun in memory, and not among the reservations that the other node sees. */
  const begun = async (
    password: string,
  ): Promise<{ readonly result: ReturnType<typeof signIn> }> => {
    const result = attempt(first, password)
    await sleep(50)
    const guards = await open.storage.db.selectFrom('login_guards').selectAll().execute()
    expect(guards).toEqual([])
    return { result }
  }

  it('ends as it would have, hashed once', async () => {
    const { result } = await begun('right')
    expect(await attempt(second, 'wrong')).toBe('failure')
    expect(open.storage.alone()).toBeUndefined()
    hashed.resolve()
    expect(await result).toBe('success')
    expect(first.hasher.evaluated).toBe(1)
  })

  it.each(['right', 'wrong'])(
    'is told nothing of a %s password when others have locked the user',
    async (password) => {
      const { result } = await begun(password)
      for (let n = 0; n < 10; n += 1) expect(await attempt(second, 'wrong')).toBe('failure')
      hashed.resolve()
      expect(await result).toBe('failure')
      const details = (await auditOf(open.storage, realm)).map(({ detail }) => detail)
      expect(details.filter((detail) => detail === 'wrong-password')).toHaveLength(10)
      expect(details.filter((detail) => detail === 'too-many-failures')).toHaveLength(1)
    },
  )
})
