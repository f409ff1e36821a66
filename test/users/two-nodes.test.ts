import { describe, expect, it } from 'vitest'
import { openStorage } from '#server/storage/open.ts'
import { backends } from '../support/backends.ts'
import {
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
      expect(evaluated).toBe(10)
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
