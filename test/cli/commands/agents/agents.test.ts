/** `iamctl agents` with the built program, and agents in files: a plan after an apply is empty, whatever the state. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startWorld } from '../fixture/fixture.ts'

const world = startWorld()

const file = `realm: acme
clients:
  - clientId: bot
    grantTypes: [client_credentials, token-exchange]
    serviceAccountsEnabled: true
users:
  - { username: nora, email: nora@acme.example }
agents:
  - name: helper
    clientId: bot
    owner: nora
    allowedDelegation: true
    reviewEvery: 90d
`

describe('iamctl agents', () => {
  it('applies an agent by the name of its owner, and moves it through its lifecycle', async () => {
    const { home } = world()
    const folder = join(home.folder, 'realms')
    mkdirSync(folder)
    writeFileSync(join(folder, 'acme.yaml'), file)
    const run = (...args: string[]) => home.run(args)
    const apply = await run(
      'apply',
      folder,
      '--auto-approve',
      '--secrets-out',
      join(home.folder, 's.json'),
    )
    expect(apply, apply.stderr).toMatchObject({ code: 0 })
    expect(apply.stderr + apply.stdout).not.toContain('not served')

    const listed = await run('agents', 'list')
    expect(listed.stdout).toMatch(/helper\s+PENDING\s+nora\s+bot/)
    expect(await run('agents', 'suspend', 'helper')).toMatchObject({ code: 6 })
    for (const [move, state] of [
      ['activate', 'ACTIVE'],
      ['suspend', 'SUSPENDED'],
      ['activate', 'ACTIVE'],
    ] as const) {
      const moved = await run('agents', move, 'helper', '-o', 'json')
      expect(JSON.parse(moved.stdout)).toMatchObject({ name: 'helper', status: state })
    }
    // The state is no configuration.
    const plan = await run('plan', folder)
    expect(plan, plan.stdout).toMatchObject({ code: 0 })
    expect((await run('agents', 'review')).stdout).toMatch(/helper\s+nora\s+\d{4}-/)
    expect((await run('agents', 'attest', 'helper')).stderr).toContain('helper is confirmed')
    expect(await run('agents', 'revoke', 'helper', '--auto-approve')).toMatchObject({ code: 0 })
    expect((await run('agents', 'activate', 'helper')).stderr).toContain('is REVOKED')

    const exported = await run('export', '-o', 'yaml')
    expect(exported.stdout).toContain('owner: nora')
    expect(exported.stdout).not.toContain('status:')
  })
})
