/** A pipeline without a password: `iamctl plan` and `apply` as a client with its secret. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { backends } from '../support/backends.ts'
import { newHome } from '../support/processes/cli.ts'
import {
  newInstallation,
  startServerProcess,
  temporaryFolder,
} from '../support/processes/server-process.ts'

const secret = 'a secret of a pipeline, long enough & odd: %+'

describe.each(backends.slice(0, 1))('client credentials on $name', (backend) => {
  it('plan and apply an estate, the planner only plans, and nothing of them is stored', async () => {
    const { args, env } = await newInstallation(backend)
    // It makes its own keys and signs with them; most servers of the tests are given some.
    const server = await startServerProcess({ args, env: { ...env, NODE_OPTIONS: '' } })
    const admin = await server.admin()
    const call = async (method: 'POST' | 'PUT', path: string, body: object) => {
      const answer = await admin.send(method, `/admin/realms/master${path}`, body)
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
      return answer.body as { id: string; roleId: string }
    }
    const { roleId } = await call('POST', '/roles', { name: 'deployers' })
    await call('PUT', `/admin-roles/${roleId}`, { permissions: ['realm-admin'] })
    for (const [clientId, more] of [
      ['pipeline', {}],
      ['planner', { adminAccess: 'plan' }],
    ] as const) {
      const { id } = await call('POST', '/clients', {
        clientId,
        secret,
        grantTypes: ['client_credentials'],
        serviceAccountsEnabled: true,
        ...more,
      })
      await call('PUT', `/clients/${id}/allowed-resources`, [`${server.url}/admin`])
      await call('POST', `/clients/${clientId}/service-account/roles`, { name: 'deployers' })
    }

    const folder = temporaryFolder()
    mkdirSync(join(folder, 'realms'))
    writeFileSync(join(folder, 'iamctl.yaml'), 'source: estate\n')
    writeFileSync(join(folder, 'realms', 'shop.yaml'), 'realm: shop\nroles:\n  - name: clerk\n')
    const file = join(folder, 'secret')
    writeFileSync(file, `${secret}\n`)
    const home = newHome({ IAMCTL_SERVER: server.url })
    const as = (clientId: string, env: Readonly<Record<string, string>>) => ({
      cwd: folder,
      env: { IAMCTL_CLIENT_ID: clientId, ...env },
    })
    const bySecret = { IAMCTL_CLIENT_SECRET: secret }

    const planned = await home.run(['plan', '--detailed-exitcode'], as('planner', bySecret))
    expect(planned.code, planned.stderr).toBe(2)
    const refused = await home.run(['apply', '--auto-approve'], as('planner', bySecret))
    expect(refused.code, refused.stdout + refused.stderr).toBe(4)
    const byFile = as('pipeline', { IAMCTL_CLIENT_SECRET_FILE: file })
    const applied = await home.run(['apply', '--auto-approve'], byFile)
    expect(applied.code, applied.stderr).toBe(0)
    const again = await home.run(['plan', '--detailed-exitcode', '--debug'], byFile)
    expect(again.code, again.stderr).toBe(0)
    expect(again.stderr).toContain('debug: 1 requests')
    expect(again.stderr).not.toContain('a secret of a pipeline')

    const grown = 'realm: shop\nroles:\n  - { name: clerk, permissions: [manage-users] }\n'
    writeFileSync(join(folder, 'realms', 'shop.yaml'), grown)
    for (const [command, ...flags] of [['plan'], ['apply', '--auto-approve']] as const) {
      const risen = await home.run([command, ...flags], byFile)
      expect(risen.stdout + risen.stderr).toContain(
        'Warning: rise of privilege: role "clerk" gains manage-users, view-users',
      )
    }

    const wrong = await home.run(['plan'], as('pipeline', { IAMCTL_CLIENT_SECRET: 'wrong' }))
    expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('refused a token')])
    const without = await home.run(['plan'], as('pipeline', {}))
    expect([without.code, without.stderr]).toEqual([
      1,
      expect.stringContaining('IAMCTL_CLIENT_SECRET'),
    ])

    const kept = readdirSync(home.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    for (const text of kept) expect(text).not.toMatch(/eyJ|a secret of a pipeline/)
    home.remove()
    await server.stop()
  })
})
