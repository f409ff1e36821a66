/** An overlay entry that matches no file is reported as a mistyped key, unless it is marked as an addition. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const setUp = (over: string) => {
  const realm = newRealm()
  const estate = newEstate(world(), {})
  mkdirSync(join(estate.folder, 'overlays'))
  estate.write({
    'realm.yaml': `realm: ${realm}\nclients:\n  - { clientId: storefront, publicClient: true, roles: [{ name: reader }] }\n`,
    'overlays/prod.yaml': `realm: ${realm}\n${over}\n`,
  })
  const command = (name: string) => estate.run(`${name} realm.yaml --overlay overlays/prod.yaml`)
  return { realm, command }
}

describe('an entry of an overlay', () => {
  it.each([
    [
      'clients: [{ clientId: storefrnt, enabled: false }]',
      'client "storefrnt"',
      'did you mean "storefront"?',
    ],
    [
      'clients: [{ clientId: storefront, roles: [{ name: raeder }] }]',
      'client-role "storefront/raeder"',
      'did you mean "reader"?',
    ],
    [
      'webhooks: [{ name: hook, url: "https://h.example", eventTypes: "*" }]',
      'webhook "hook"',
      'add: true',
    ],
    ['clients: [{ clientId: storefront, add: true }]', 'client "storefront"', 'add'],
    ['clients: [{ clientId: other, add: yes please }]', '"add" is true or false', ''],
  ])('that fits no entry is refused: %s', async (over, what, hint) => {
    const { command } = setUp(over)
    const { code, stdout } = await command('validate')
    expect(code).toBe(3)
    expect(stdout).toContain(what)
    expect(stdout).toContain(hint)
    expect(stdout).toContain('overlays/prod.yaml:2')
  })

  it('is added where it says so, with what is below it, and built-in documents need not say so', async () => {
    const { command } = setUp(
      [
        'clients:',
        '  - { clientId: admin-tool, add: true, publicClient: true, roles: [{ name: operator }] }',
        '  - { clientId: storefront, enabled: false, roles: [{ name: writer, add: true }] }',
        'clientScopes: [{ name: profile, description: Ours }]',
      ].join('\n'),
    )
    const { code, stdout, stderr } = await command('plan -o json')
    expect(code, stdout + stderr).toBe(0)
    const [{ changes }] = JSON.parse(stdout).realms
    const keys = changes.map(({ kind, key }: { kind: string; key: string }) => `${kind} ${key}`)
    expect(keys).toEqual(
      expect.arrayContaining([
        'client admin-tool',
        'client-role admin-tool/operator',
        'client-role storefront/writer',
        'client-scope profile',
      ]),
    )
    expect(JSON.stringify(changes)).not.toContain('"add"')
  })
})
