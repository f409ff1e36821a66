/** `iamctl authz evaluate`: the decision of the realm, and of the realm as its files would make it. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { startWorld } from '../fixture/fixture.ts'

const world = startWorld()

const permissions = 1000

/** A resource server with so many permissions, and a policy that names this role. */
const realmFile = (role: string): string =>
  JSON.stringify({
    realm: 'acme',
    roles: [{ name: 'reader' }, { name: 'writer' }],
    users: [{ username: 'rita', roles: [role] }],
    clients: [
      {
        clientId: 'api',
        authorizationServicesEnabled: true,
        authzScopes: [{ name: 'read' }, { name: 'write' }],
        authzResources: [
          ...Array.from({ length: permissions }, (_, n) => ({ name: `r${n}`, scopes: ['read'] })),
          { name: 'both', scopes: ['read', 'write'] },
        ],
        authzPolicies: [{ name: 'writers', type: 'role', roles: ['writer'] }],
        authzPermissions: [
          ...Array.from({ length: permissions }, (_, n) => ({
            name: `p${n}`,
            resources: [`r${n}`],
            policies: ['writers'],
          })),
          {
            name: 'reading',
            type: 'scope',
            resources: ['both'],
            scopes: ['read'],
            policies: ['writers'],
          },
        ],
      },
    ],
  })

describe('authz evaluate', () => {
  let file: string
  const ask = (...args: string[]) =>
    world().home.run([
      'authz',
      'evaluate',
      'api',
      ...args,
      '--user',
      'rita',
      '--resource',
      'r1#read',
    ])

  beforeAll(async () => {
    const { run, folder } = world().home
    file = join(folder, 'authz.yaml')
    writeFileSync(file, realmFile('reader'))
    const applied = await run(['apply', file, '--prune', 'none', '--auto-approve'])
    expect(applied, applied.stderr).toMatchObject({ code: 0 })
  })

  it('names the policy that decided, in words and as JSON', async () => {
    const told = await ask()
    expect(told).toMatchObject({ code: 0 })
    expect(told.stdout.split('\n')).toEqual([
      'DENY   resource r1',
      '  DENY   scope read: 0 of 1 permissions permit, UNANIMOUS',
      '    DENY   permission p1, UNANIMOUS',
      '      DENY   policy writers (role): has no role of writer',
      '',
    ])
    expect(told.stderr).toContain('DENY: client api, realm acme')
    const { stdout } = await ask('-o', 'json')
    expect(JSON.parse(stdout)).toMatchObject({ status: 'DENY', results: [{ allowedScopes: [] }] })
    expect((await ask('--role', 'writer')).stdout).toContain('has the role writer')
  })

  it('--plan decides for the files and changes nothing; --expect makes it a test', async () => {
    writeFileSync(file, realmFile('writer'))
    const planned = await ask(file, '--plan', '--expect', 'permit')
    expect(planned, planned.stderr).toMatchObject({ code: 0 })
    expect(planned.stdout).toContain('PERMIT policy writers (role): has the role writer')
    const now = await ask('--expect', 'permit')
    expect(now.code).toBe(1)
    expect(now.stderr).toContain('the decision is DENY, not PERMIT for r1#read')
    // One scope that is permitted does not answer for another that is not.
    const both = await ask('--role', 'writer', '--expect', 'permit', '--resource', 'both')
    expect(both.code).toBe(1)
    expect(both.stderr).toContain('the decision is DENY, not PERMIT for both#write')
    const denied = await ask('--role', 'writer', '--expect', 'deny', '--resource', 'both')
    expect(denied.stderr).toContain('the decision is PERMIT, not DENY for both#read, r1#read')
    const withoutPlan = await ask(file)
    expect(withoutPlan.code).toBe(1)
    expect(withoutPlan.stderr).toContain('--plan')
  })

  it('adopts a permission of a thousand that was changed by hand', async () => {
    const { home, admin } = world()
    const path = '/admin/realms/acme/clients/api/authz/permissions/p7'
    const { body } = await admin.send('GET', path)
    await admin.send('PUT', path, { ...(body as object), description: 'changed by hand' })
    const adopted = await home.run(['adopt', '--path', file])
    expect(adopted, adopted.stderr).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).toContain('changed by hand')
  })

  it('finds nothing to change in an export of a thousand permissions', async () => {
    const { run, folder } = world().home
    const out = join(folder, 'exported')
    expect((await run(['export', '--split', '--out', out])).code).toBe(0)
    const plan = await run(['plan', out, '--detailed-exitcode'])
    expect(plan, plan.stdout).toMatchObject({ code: 0 })
  })
})
