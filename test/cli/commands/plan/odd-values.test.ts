/** Unusual values in files: their plans are stable, and validate refuses values that cannot be stored. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

describe('a realm with odd values', () => {
  it('has an empty plan after its apply, and comes back from an export', async () => {
    const realm = newRealm()
    const { run, folder } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}
messagingProviders:
  - { channel: EMAIL, driver: smtp, priority: -0, config: { host: mail.example, port: 587 } }
groups:
  - name: odd
    attributes: { "<<": [merge], "a\\nb": [line], "": [empty], "on": ["yes"], "~": ["null"] }
`,
    })
    const applied = await run('apply realm.yaml --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    const planned = await run('plan realm.yaml --detailed-exitcode')
    expect(planned.code, planned.stdout).toBe(0)
    expect((await run(`export --realm ${realm} --out exported`)).code).toBe(0)
    const file = join('exported', `${realm}.yaml`)
    expect(readFileSync(join(folder, file), 'utf8')).toContain('"<<"')
    const again = await run(`plan --detailed-exitcode ${file}`)
    expect(again.code, again.stdout + again.stderr).toBe(0)
  })

  it('is refused where a value in a map has the wrong type, whatever its name holds', async () => {
    const names = ['plain', 'a\\nb', '\\n', 'a\\r\\nb', 'a\\u2028b', '']
    const realm = newRealm()
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\ngroups:\n${names
        .map((name, i) => `  - { name: g${i}, attributes: { "${name}": 5 } }\n`)
        .join('')}`,
    })
    const { code, stdout } = await run('validate realm.yaml -o json')
    expect(code).toBe(3)
    expect(JSON.parse(stdout).diagnostics).toHaveLength(names.length)
  })

  it.each([
    ['NUL', '"a\\0b"'],
    ['half a surrogate pair', '"a\\uD800b"'],
  ])('is refused by validate where text holds %s, as a value and as a name', async (_, text) => {
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: ${newRealm()}
roles: [{ name: r, description: ${text} }]
groups: [{ name: g, attributes: { ${text}: [x] } }]
`,
    })
    const { code, stdout } = await run('validate realm.yaml -o json')
    expect(code).toBe(3)
    const lines = JSON.parse(stdout).diagnostics.map(
      ({ code: found, place }: { code: string; place: { line: number } }) =>
        `${found} ${place.line}`,
    )
    expect(lines).toEqual(['file-text 2', 'file-text 3'])
  })
})

describe('names', () => {
  it('of users that differ in case alone are told with renamedFrom', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nusers: [{ username: ann }]\n`,
    })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    write({ 'realm.yaml': `realm: ${realm}\nusers: [{ username: Ann }]\n` })
    const refused = await run('apply realm.yaml --auto-approve')
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain('renamedFrom: ann')
    write({ 'realm.yaml': `realm: ${realm}\nusers: [{ username: Ann, renamedFrom: ann }]\n` })
    const renamed = await run('apply realm.yaml --auto-approve')
    expect(renamed.code, renamed.stderr).toBe(0)
  })

  it('of deleted children are told below the name that their parent has afterwards', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nclients: [{ clientId: old, publicClient: true, roles: [{ name: gone }] }]\n`,
    })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    write({
      'realm.yaml': `realm: ${realm}\nclients: [{ clientId: new, renamedFrom: old, publicClient: true, roles: [] }]\n`,
    })
    const applied = await run('apply realm.yaml --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    const { changes } = JSON.parse((await run(`history show 2 --realm ${realm} -o json`)).stdout)
    expect(changes).toContainEqual(
      expect.objectContaining({ op: 'delete', kind: 'client-role', key: 'new/gone' }),
    )
  })
})

describe('import', () => {
  it('makes the realm that it is told to import into', async () => {
    const [realm, copy] = [newRealm(), newRealm()]
    const { run, folder } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nroles: [{ name: a }]\n`,
    })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    const { stdout } = await run(`export --realm ${realm} -o json`)
    writeFileSync(join(folder, 'acme.json'), stdout)
    expect((await run(`import acme.json --realm ${copy} --from-realm ${realm} --plan`)).code).toBe(
      1,
    )
    const made = await run(`import acme.json --realm ${copy} --from-realm ${realm} --auto-approve`)
    expect(made.code, made.stderr).toBe(0)
    const { status } = await world().admin.send('GET', `/admin/realms/${copy}/roles/a`)
    expect(status).toBe(200)
  })

  it('that is refused names the places in the file, and leaves no realm behind', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'a.yaml': 'realm: a\nroles: [{ name: a, nam: b }]\n' })
    const { code, stderr } = await run(
      `import a.yaml --realm ${realm} --from-realm a --auto-approve`,
    )
    expect(code, stderr).toBe(3)
    expect(stderr).toContain('a.yaml:2:20: error unknown-field: /roles/0/nam: unknown field')
    expect((await world().admin.send('GET', `/admin/realms/${realm}`)).status).toBe(404)
  })
})
