/** The parts of the loop that need no server: how long it waits, who holds its lock, what its policy lets pass. */
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptySummary, type RealmPlan } from '#cli/planning/plan.ts'
import { takeLock } from '#cli/reconcile/lock.ts'
import { type Policy, underPolicy } from '#cli/reconcile/policy.ts'
import { delayOf } from '#cli/reconcile/waiting.ts'

describe('the wait between rounds', () => {
  it('is the interval, a little more or less', () => {
    expect(delayOf({ intervalMs: 60_000, failures: 0, chance: 0 })).toBe(57_000)
    expect(delayOf({ intervalMs: 60_000, failures: 0, chance: 1 })).toBe(63_000)
  })

  it('doubles with every failure, by chance between half and all of it, five minutes at most', () => {
    const longest = [1, 2, 3, 4, 20].map((failures) =>
      delayOf({ intervalMs: 60_000, failures, chance: 1 }),
    )
    expect(longest).toEqual([2000, 4000, 8000, 16_000, 300_000])
    expect(delayOf({ intervalMs: 60_000, failures: 3, chance: 0 })).toBe(4000)
    expect(delayOf({ intervalMs: 3_600_000, failures: 30, chance: 1 })).toBe(3_600_000)
  })
})

const lockFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'state', 'reconcile.lock')
}

describe('the lock', () => {
  const held = (file: string, holder: object): void => writeFileSync(file, JSON.stringify(holder))

  it('is refused while another process of this machine holds it, and free when that is gone', async () => {
    const file = lockFile()
    const lock = await takeLock(file, 1000)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: process.pid })
    held(file, { pid: process.ppid, host: hostname(), startedAt: 'then' })
    await expect(takeLock(file, 1000)).rejects.toMatchObject({ exitCode: 6 })
    held(file, { pid: 2 ** 22 + 1, host: hostname(), startedAt: 'then' })
    await (await takeLock(file, 1000)).release()
    await lock.release()
  })

  it('of another machine counts until nobody has touched it for long', async () => {
    const file = lockFile()
    await takeLock(file, 1000)
    held(file, { pid: 1, host: 'elsewhere', startedAt: 'then' })
    await expect(takeLock(file, 60_000)).rejects.toThrow(/by process 1 on elsewhere/)
    utimesSync(file, new Date(0), new Date(0))
    await (await takeLock(file, 60_000)).release()
  })
})

const change = (kind: string, key: string, action: string) => ({
  kind,
  key,
  action,
  takenFrom: null,
  protected: { before: false, after: false },
  cascades: [],
  place: null,
})

const planOf = (...changes: object[]): RealmPlan =>
  ({
    realm: 'acme',
    createRealm: false,
    changes,
    problems: [],
    summary: { add: 0, change: 0, destroy: 0 },
  }) as unknown as RealmPlan

describe('the policy', () => {
  const policy: Policy = { only: null, reportOnly: false, maxDeletions: 20 }
  const plan = planOf(change('role', 'a', 'create'), change('client', 'web', 'update'))

  it('lets pass what is allowed and tells why the rest is left', () => {
    expect(underPolicy(plan, policy)).toEqual({ plan, held: [] })
    const some = underPolicy(plan, { ...policy, only: new Set(['role']) })
    expect(some.plan?.changes).toHaveLength(1)
    expect(some.held).toMatchObject([{ kind: 'client', key: 'web', action: 'update' }])
    const none = underPolicy(plan, { ...policy, reportOnly: true })
    expect(none.plan).toBeNull()
    expect(none.held).toHaveLength(2)
  })

  it('holds a whole realm back where a guard refuses, or the plan has a problem', () => {
    const destroys = {
      ...planOf(change('role', 'a', 'create'), change('role', 'b', 'delete')),
      summary: { ...emptySummary, add: 1, destroy: 1 },
    }
    expect(underPolicy(destroys, policy).held).toEqual([])
    expect(underPolicy(destroys, { ...policy, maxDeletions: 0 })).toMatchObject({
      plan: null,
      held: [{ key: 'a' }, { key: 'b' }],
    })
    const problem = { code: 'owned', kind: 'role', key: 'a', message: 'theirs', place: null }
    const wrong = { ...plan, problems: [problem] } as RealmPlan
    expect(underPolicy(wrong, policy)).toMatchObject({
      plan: null,
      held: [{ action: 'refuse', reason: 'theirs' }],
    })
  })
})
