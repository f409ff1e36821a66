/** Names that change places: refused in one apply, because the next one would change them back, and possible in two. */
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../../fixture/estate.ts'
import { sharedWorld } from '../../fixture/fixture.ts'

const world = sharedWorld()

const lists = [
  ['roles', 'name', ''],
  ['groups', 'name', ''],
  ['users', 'username', ''],
  ['clients', 'clientId', ', publicClient: true'],
] as const

interface Named {
  readonly name: string
  readonly from?: string
  readonly text: string
}

const fileOf = (realm: string, entries: readonly Named[]): string => {
  const sections = lists.map(([section, key, more]) => {
    const text =
      section === 'users' ? 'firstName' : section === 'groups' ? 'attributes' : 'description'
    const written = (value: string): string =>
      text === 'attributes' ? `{ was: [${value}] }` : value
    const lines = entries.map(
      ({ name, from, text: value }) =>
        `  - { ${key}: ${name}, ${text}: ${written(value)}${more}${from ? `, renamedFrom: ${from}` : ''} }\n`,
    )
    return `${section}:\n${lines.join('')}`
  })
  return `realm: ${realm}\n${sections.join('')}`
}

/** Two names that change places, and three in a circle. */
const before: readonly Named[] = ['a', 'b', 'x', 'y', 'z'].map((name) => ({ name, text: name }))
const first: readonly Named[] = [
  { name: 'third', from: 'a', text: 'a' },
  { name: 'a', from: 'b', text: 'b' },
  { name: 'other', from: 'x', text: 'x' },
  { name: 'x', from: 'z', text: 'z' },
  { name: 'z', from: 'y', text: 'y' },
]
const second: readonly Named[] = first.map((one) =>
  one.name === 'third'
    ? { ...one, name: 'b', from: 'third' }
    : one.name === 'other'
      ? { ...one, name: 'y', from: 'other' }
      : one,
)
const swapped: readonly Named[] = second.map((one) => ({ ...one, from: one.text }))

describe('names that change places', () => {
  it('are refused by validate and plan, with the circle, each of its places, and what to do', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'one.yaml': `realm: ${realm}\nroles: [{ name: a, renamedFrom: b }]\n`,
      'two.yaml': `realm: ${realm}\nroles: [{ name: b, renamedFrom: a }]\n`,
    })
    const found = await run('validate one.yaml two.yaml -o json')
    expect(found.code).toBe(3)
    const both = {
      code: 'rename-cycle',
      message: expect.stringContaining('("a" is to become "b", and "b" is to become "a")'),
      hint: expect.stringContaining('give role "b" a third name'),
    }
    expect(JSON.parse(found.stdout).diagnostics).toMatchObject([
      { ...both, place: { file: 'one.yaml' }, related: [{ place: { file: 'two.yaml' } }] },
      { ...both, place: { file: 'two.yaml' }, related: [{ place: { file: 'one.yaml' } }] },
    ])
    write({ 'one.yaml': fileOf(realm, swapped), 'two.yaml': '' })
    const planned = await run('plan one.yaml')
    expect(planned.code).toBe(3)
    expect(planned.stderr).toContain('"x" is to become "y"')
  })

  it('have changed them after two applies: documents keep their ids, and no plan changes them back', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': fileOf(realm, before) })
    const idsOf = async (): Promise<Record<string, string>> => {
      const ids: Record<string, string> = {}
      for (const [section, key] of lists)
        for (const one of JSON.parse((await run(`get ${section} --realm ${realm} -o json`)).stdout))
          ids[`${section} ${one[key]}`] = one.id
      return ids
    }
    const apply = async (entries: readonly Named[]): Promise<void> => {
      write({ 'realm.yaml': fileOf(realm, entries) })
      const { code, stdout, stderr } = await run('apply realm.yaml --auto-approve')
      expect(code, stdout + stderr).toBe(0)
      expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
    }
    await apply(before)
    const ids = await idsOf()
    await apply(first)
    await apply(second)
    const after = await idsOf()
    for (const [section] of lists)
      for (const { name, text } of second)
        expect(after[`${section} ${name}`], name).toBe(ids[`${section} ${text}`])
    expect((await run(`rollback 1 --realm ${realm} --auto-approve`)).code).toBe(0)
    expect(await idsOf()).toEqual(ids)
  })
})
