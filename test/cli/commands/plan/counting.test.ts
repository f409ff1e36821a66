/** A plan, its apply and the history count a change alike. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seed } from '../../../support/chance.ts'
import { newEstate, newRealm } from '../estate.ts'
import { startWorld } from '../fixture.ts'

const world = startWorld()

interface Counts {
  readonly add: number
  readonly change: number
  readonly destroy: number
}

/** Some of these: names, each with a value that may change; `b` of a client brings roles that go along with it. */
const some = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    value: fc.constantFrom('one', 'two'),
  }),
  { selector: ({ name }) => name, maxLength: 5 },
)
const states = fc.record({
  roles: some,
  clients: some,
  groups: some,
  title: fc.constantFrom('One', 'Two'),
})

type State = typeof states extends fc.Arbitrary<infer T> ? T : never

const fileOf = (realm: string, { roles, clients, groups, title }: State): string =>
  JSON.stringify({
    realm,
    settings: { displayName: title },
    roles: roles.map(({ name, value }) => ({ name, description: value })),
    clients: clients.map(({ name, value }) => ({
      clientId: name,
      name: value,
      publicClient: true,
      roles: name === 'b' ? [{ name: 'reader' }, { name: value }] : [],
    })),
    groups: groups.map(({ name, value }) => ({ name, groups: [{ name: value }] })),
  })

describe('the figures of a change', () => {
  it('are the same in plan, apply and history, for a new realm and for generated changes', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {})
    const counts = (text: string, pattern: RegExp): Counts => {
      const [, add, change, destroy] = pattern.exec(text) ?? []
      return { add: Number(add), change: Number(change), destroy: Number(destroy) }
    }
    let revision = 0
    for (const state of fc.sample(states, { numRuns: 4, seed })) {
      write({ 'realm.json': fileOf(realm, state) })
      const planned = await run('plan realm.json --detailed-exitcode')
      if (planned.code === 0) continue
      expect(planned.code, planned.stderr).toBe(2)
      const plan = counts(planned.stdout, /Plan: (\d+) to add, (\d+) to change, (\d+) to destroy/)
      const json = JSON.parse((await run('plan realm.json -o json')).stdout)
      expect(json.summary).toEqual(plan)
      const applied = await run('apply realm.json --auto-approve --max-deletions 100')
      expect(applied.code, applied.stderr).toBe(0)
      const done = counts(applied.stdout, /Documents: (\d+) added, (\d+) changed, (\d+) destroyed/)
      revision += 1
      const shown = await run(`history --realm ${realm} --limit 1`)
      const listed = counts(shown.stdout, /\+(\d+) ~(\d+) -(\d+)/)
      expect({ revision, plan: done, history: listed }).toEqual({ revision, plan, history: plan })
    }
  })
})
