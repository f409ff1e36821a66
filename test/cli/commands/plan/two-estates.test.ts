/** Two estates in one realm: each may refer to what the other declares, also within a section that both list. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

/** A document of the first estate, and one of the second that names it. */
const pairs: readonly (readonly [string, string, string, string?])[] = [
  ['roles', '{ name: one }', '{ name: two, composites: [one] }'],
  [
    'flows',
    '{ alias: one, topLevel: false }',
    '{ alias: two, authenticationExecutions: [{ flowAlias: one }] }',
  ],
  ['groups', '{ name: one }', '{ name: two }', 'users: [{ username: ann, groups: [/one, /two] }]'],
  [
    'clients',
    '{ clientId: one, publicClient: true }',
    '{ clientId: two, publicClient: true }',
    'applications: [{ name: app, type: OIDC, clientId: one }]',
  ],
  [
    'clientScopes',
    '{ name: one }',
    '{ name: two }',
    'clients: [{ clientId: c, publicClient: true, scopes: [one, two] }]',
  ],
]

describe('two estates', () => {
  it.each(pairs)('refer to each other in %s', async (section, first, second, more = '') => {
    const realm = newRealm()
    const one = newEstate(world(), {
      'iamctl.yaml': 'source: one\npaths: [realm.yaml]\n',
      'realm.yaml': `realm: ${realm}\n${section}: [${first}]\n`,
    })
    const estate = 'source: two\npaths: [realm.yaml]\n'
    const two = newEstate(world(), {
      'iamctl.yaml': estate,
      'realm.yaml': `realm: ${realm}\n${section}: [${second}]\n${more}\n`,
    })
    expect((await one.run('apply --auto-approve')).code).toBe(0)
    const planned = await two.run('plan')
    expect(planned.code, planned.stderr).toBe(0)
    const applied = await two.run('apply --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    expect((await two.run('plan --detailed-exitcode')).code).toBe(0)
    expect((await one.run('plan --detailed-exitcode')).code).toBe(0)
    // Without a server the other estate is unknown, unless the files name it.
    expect((await two.run('validate')).code).toBe(3)
    two.write({ 'iamctl.yaml': `${estate}sharedRealms: [${realm}]\n` })
    expect((await two.run('validate')).code).toBe(0)
  })

  it('do not hide a slip: what neither declares is refused at its line, before anybody is asked', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nroles:\n  - name: one\n  - name: two\n    composites: [onne]\n`,
    })
    for (const command of ['plan realm.yaml -o json', 'apply realm.yaml -o json']) {
      const { code, stderr } = await run(command)
      expect(code, stderr).toBe(3)
      expect(JSON.parse(stderr).error.diagnostics).toMatchObject([
        { code: 'missing-reference', place: { file: 'realm.yaml', line: 5 } },
      ])
    }
    expect((await run('plan realm.yaml')).stderr).toContain('did you mean "one"?')
  })

  it('of a monorepo keep their owner, guards and variables, named from its root', async () => {
    const realm = newRealm()
    const { run, write, folder } = newEstate(world(), {})
    for (const part of ['one/realms', 'two/realms'])
      mkdirSync(join(folder, part), { recursive: true })
    const estate = (name: string) => `source: ${name}\npaths: [realms]\nvars: { NAME: ${name} }\n`
    const file = `realm: ${realm}\nroles: [{ name: "of-\${var:NAME}" }, { name: "more-\${var:NAME}" }]\n`
    write({
      'one/iamctl.yaml': estate('one'),
      'two/iamctl.yaml': estate('two'),
      'one/realms/realm.yaml': file,
      'two/realms/realm.yaml': file,
    })
    expect((await run('apply one --auto-approve')).code).toBe(0)
    const applied = await run('apply two/realms --auto-approve')
    expect(applied.stdout + applied.stderr).toContain('source "two"')
    expect(applied.code).toBe(0)
    expect((await run('plan two/realms/realm.yaml --detailed-exitcode')).code).toBe(0)
    // Each prunes its own alone.
    write({ 'two/realms/realm.yaml': `realm: ${realm}\nroles: [{ name: of-two }]\n` })
    const planned = await run('plan two/realms')
    expect(planned.stdout, planned.stderr).toContain('role "more-two" will be destroyed')
    expect(planned.stdout).toContain('1 to destroy')
    for (const command of ['plan', 'apply --auto-approve']) {
      const mixed = await run(`${command} one/realms two/realms`)
      expect(mixed.stderr).toContain('several estates: one/iamctl.yaml, two/iamctl.yaml')
      expect(mixed.code).toBe(3)
    }
    expect((await run('validate one two')).stderr).not.toContain('several estates')
  })
})
