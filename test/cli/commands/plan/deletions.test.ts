/** Documents that refer to each other leave the files together. */
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

describe('documents that refer to each other', () => {
  it('are destroyed by one apply, also where one is held by what goes along with another', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}
roles: [{ name: one }]
groups: [{ name: Staff, groups: [{ name: Desk }] }]
clients:
  - clientId: web
    publicClient: true
    roles: [{ name: reader }]
    authzPolicies:
      - { name: staff, type: group, groups: [/Staff, /Staff/Desk] }
      - { name: other, type: client, clients: [api] }
  - clientId: api
    publicClient: true
    authzPolicies:
      - { name: readers, type: client-role, clientRoles: [web/reader] }
      - { name: ones, type: role, roles: [one] }
      - { name: other, type: client, clients: [web] }
`,
    })
    const made = await run('apply realm.yaml --auto-approve')
    expect(made.code, made.stderr).toBe(0)
    write({ 'realm.yaml': `realm: ${realm}\nroles: []\ngroups: []\nclients: []\n` })
    const planned = await run('plan realm.yaml -o json')
    expect(planned.code, planned.stderr).toBe(0)
    expect(JSON.parse(planned.stdout).summary).toMatchObject({ add: 0, change: 0, destroy: 11 })
    const applied = await run('apply realm.yaml --auto-approve')
    expect(applied.code, applied.stderr).toBe(0)
    expect((await run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
  })
})
