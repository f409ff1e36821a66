/** Clients that registered themselves, seen from the files: named by a plan, never pruned, adopted by name. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const redirect_uris = ['https://reports.example/callback']

describe('registered clients', () => {
  it('are listed by plans, survive --prune, and become entries of a file with their secret', async () => {
    const realm = newRealm()
    const { run, folder } = newEstate(world(), {
      'iamctl.yaml': 'source: shop\npaths: [realm.yaml]\nprune: all\n',
      'realm.yaml': `realm: ${realm}\nprovisioning: { dcrEnabled: true }\nclients:\n  - clientId: web\n    publicClient: true\n`,
    })
    expect((await run('apply --auto-approve')).code).toBe(0)
    const made = await run(`clients initial-token --count 2 --realm ${realm}`)
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('not shown again') })
    expect(made.stderr).not.toContain('cannot register')
    const early = await run('clients initial-token --realm master')
    expect(early.stderr).toContain('clients cannot register in realm master yet')
    const register = async () => {
      const response = await fetch(`${world().server.url}/realms/${realm}/connect/register`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${made.stdout.trim()}`,
        },
        body: JSON.stringify({ client_name: 'Reports', redirect_uris }),
      })
      expect(response.status).toBe(201)
      return (await response.json()) as Record<string, string>
    }
    const [one, two] = [await register(), await register()]
    const [name = '', other = ''] = [one['client_id'], two['client_id']]

    const plan = await run('plan')
    expect(plan.stdout).toContain(name)
    expect(plan.stdout).toContain(other)
    expect((await run('apply --auto-approve')).code).toBe(0)
    expect((await run(`get clients --realm ${realm}`)).stdout).toContain(name)

    expect(await run('adopt', `client/${name}`)).toMatchObject({ code: 0 })
    const file = readFileSync(join(folder, 'realm.yaml'), 'utf8')
    expect(file).toContain(`clientId: ${name}`)
    expect(file).not.toContain(other)
    expect((await run('apply --auto-approve')).code).toBe(0)
    expect((await run('plan --detailed-exitcode')).code).toBe(0)
    // The secret that it registered with is still its own.
    const token = await fetch(`${world().server.url}/realms/${realm}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: name,
        client_secret: one['client_secret'] ?? '',
        code: 'none',
        redirect_uri: redirect_uris[0] ?? '',
      }),
    })
    expect(((await token.json()) as { error: string }).error).toBe('invalid_grant')
  })
})
