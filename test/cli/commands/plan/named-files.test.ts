/** Files that are named on the command line narrow a change to their documents: only a whole estate is pruned. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const parts = (realm: string): Readonly<Record<string, string>> => ({
  a: `realm: ${realm}\nroles: [{ name: a }]\nsettings: { displayName: One }\n`,
  b: `realm: ${realm}\nroles: [{ name: b }]\nclients: [{ clientId: b, publicClient: true }]\n`,
  c: `realm: ${realm}\ngroups: [{ name: c, roles: [a, b] }]\nsettings: { registrationAllowed: true }\n`,
})

/** Where the files lie, and what says that they belong together. */
const layouts = [
  { layout: 'paths of iamctl.yaml', folder: 'files', estate: 'source: one\npaths: [files]\n' },
  { layout: 'the folder realms of an estate', folder: 'realms', estate: 'source: one\n' },
  { layout: 'the folder realms alone', folder: 'realms', estate: null },
  { layout: 'a folder without any estate', folder: '.', estate: null },
]

const subsets = [['a'], ['b'], ['c'], ['a', 'b'], ['a', 'c'], ['b', 'c']]

const setUp = (layout: (typeof layouts)[number]) => {
  const realm = newRealm()
  const estate = newEstate(world(), {})
  mkdirSync(join(estate.folder, layout.folder), { recursive: true })
  const write = (name: string, text: string) =>
    estate.write({ [join(layout.folder, `${name}.yaml`)]: text })
  if (layout.estate !== null) estate.write({ 'iamctl.yaml': layout.estate })
  for (const [name, text] of Object.entries(parts(realm))) write(name, text)
  const named = (names: readonly string[]) =>
    names.map((name) => join(layout.folder, `${name}.yaml`))
  return { realm, write, run: estate.run, named }
}

describe.each(layouts)('files that are named in $layout', (layout) => {
  it('destroy and reset nothing of what the others declare, and the plan says that there is more', async () => {
    const { realm, run, named, write } = setUp(layout)
    const all = named(['a', 'b', 'c'])
    const first = await run('apply --auto-approve', ...all)
    expect(first.code, first.stderr).toBe(0)
    for (const names of subsets) {
      const { stdout, stderr, code } = await run('plan -o json', ...named(names))
      expect(code, stderr).toBe(0)
      const planned = JSON.parse(stdout)
      expect(planned, names.join()).toMatchObject({ hasChanges: false, summary: { destroy: 0 } })
      const [{ warnings }] = planned.realms
      expect(warnings).toMatchObject([{ code: 'narrowed' }])
      expect((await run('validate', ...named(names))).code).toBe(0)
    }
    // What changes in a named file is changed, and an entry that left it is pruned by the whole estate only.
    write(
      'b',
      `realm: ${realm}\nroles: []\nclients: [{ clientId: b, enabled: false, publicClient: true }]\n`,
    )
    write('c', `realm: ${realm}\ngroups: [{ name: c, roles: [a] }]\n`)
    const changed = JSON.parse((await run('plan -o json', ...named(['b']))).stdout)
    expect(changed.summary).toEqual({ add: 0, change: 1, destroy: 0, adopt: 0, along: 0 })
    const whole = JSON.parse((await run('plan -o json', ...all)).stdout)
    expect(whole.summary.destroy).toBe(1)
    expect(whole.realms[0].warnings).toEqual([])
    expect((await run('apply --auto-approve', ...all)).code).toBe(0)
    const { body } = await world().admin.send('GET', `/admin/realms/${realm}/settings`)
    expect(body.displayName).toBe('One')
  })
})

describe('files that are named', () => {
  it('are a whole where the others are of other realms', async () => {
    const [one, other] = [newRealm(), newRealm()]
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': 'source: one\npaths: [.]\n',
      'one.yaml': `realm: ${one}\nroles: [{ name: a }, { name: b }]\n`,
      'other.yaml': `realm: ${other}\nroles: [{ name: a }]\n`,
    })
    expect((await run('apply one.yaml --auto-approve')).code).toBe(0)
    write({ 'one.yaml': `realm: ${one}\nroles: [{ name: a }]\n` })
    const planned = JSON.parse((await run('plan one.yaml -o json')).stdout)
    expect(planned).toMatchObject({ summary: { destroy: 1 }, realms: [{ warnings: [] }] })
  })

  it('prune nothing beside a file of the estate that cannot be read', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': 'source: one\npaths: [.]\n',
      'a.yaml': `realm: ${realm}\nroles: [{ name: a }]\n`,
      'b.yaml': `realm: ${realm}\nroles: [{ name: b }]\n`,
    })
    expect((await run('apply --auto-approve')).code).toBe(0)
    write({ 'b.yaml': `realm: ${realm}\nroles: [{ name: b }\n` })
    const planned = JSON.parse((await run('plan a.yaml -o json')).stdout)
    expect(planned).toMatchObject({
      hasChanges: false,
      realms: [{ warnings: [{ code: 'narrowed' }] }],
    })
  })
})
