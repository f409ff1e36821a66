/** Tokens are appended beside a sender that commits many users: on SQLite, which has one writer, they go ahead of them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { insertRows } from '#server/storage/statements.ts'

let folder: string
let storage: Storage
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'iamctl-appends-'))
  storage = await openStorage({ url: `sqlite:${join(folder, 'iamctl.db')}` })
})
afterAll(async () => {
  await storage.close()
  await rm(folder, { recursive: true, force: true })
})

const list = (name: string, length: number): Statement[] =>
  Array.from({ length }, (_, n) =>
    insertRows(storage.db, 'meta', [{ name: `${name}-${n}`, value: '' }]),
  ).flat()

it('an append is done before many commits that came first, and the next ones do not hold them up', async () => {
  const order: string[] = []
  const committed = Array.from({ length: 20 }, async (_, n) => {
    await storage.commit(list(`commit-${n}`, 5))
    order.push('commit')
  })
  const appends = async (): Promise<void> => {
    for (let n = 0; n < 10; n += 1) {
      await storage.append(list(`append-${n}`, 1))
      order.push('append')
    }
  }
  await Promise.all([...committed, appends()])
  expect(order[0]).toBe('append')
  // The second transaction has all commits, and the append that came meanwhile.
  expect(order.slice(0, 22).filter((one) => one === 'commit')).toHaveLength(20)
})
