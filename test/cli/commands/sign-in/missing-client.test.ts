/**
 * `iamctl login` to a realm whose database has lost the client of the command line, which no request can delete, or has another
 * client under its name, from before the command line had one (docs/decisions/command-line-sign-in.md).
 */
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { type Backend, backends } from '../../../support/backends.ts'
import { newHome } from '../../../support/processes/cli.ts'
import { newInstallation, startServerProcess } from '../../../support/processes/server-process.ts'
import { fakeBrowser } from './fixture.ts'

const sqlite = backends.find(({ name }) => name === 'sqlite') as Backend

const another = { clientId: 'iamctl-cli', publicClient: true, grantTypes: ['refresh_token'] }

const statements = {
  gone: 'delete from documents',
  other: `update documents set origin = 'manual', body = '${JSON.stringify(another)}'`,
}

it('is refused at once, with the other ways to sign in', async () => {
  const installation = await newInstallation(sqlite)
  const first = await startServerProcess(installation)
  const admin = await first.admin()
  const clientOf = (realm: string): string => `/admin/realms/${realm}/clients/iamctl-cli`
  for (const realm of Object.keys(statements)) {
    expect((await admin.send('POST', '/admin/realms', { realm })).status).toBe(201)
    expect((await admin.send('DELETE', clientOf(realm))).status).toBe(409)
  }
  await first.stop()

  const database = new DatabaseSync(installation.databaseUrl.slice('sqlite:'.length))
  for (const [realm, statement] of Object.entries(statements)) {
    const change = database.prepare(`${statement} where realm = ? and key = 'iamctl-cli'`)
    expect(change.run(realm).changes).toBe(1)
  }
  database.close()

  const server = await startServerProcess(installation)
  onTestFinished(async () => {
    await server.stop()
  })
  const again = await server.admin()
  expect((await again.send('GET', clientOf('gone'))).status).toBe(404)
  const home = newHome({ IAMCTL_SERVER: server.url })
  onTestFinished(home.remove)
  const env = { BROWSER: fakeBrowser(home).command }
  for (const realm of Object.keys(statements))
    for (const flags of [[], ['--device']]) {
      const { code, stderr } = await home.run(['login', '--auth-realm', realm, ...flags], { env })
      expect(code, stderr).toBe(4)
      expect(stderr).toContain(`realm ${realm} refuses the sign-in`)
      expect(stderr).toMatch(/--auth-realm.*IAMCTL_PASSWORD/s)
      if (realm === 'gone')
        expect(stderr).toContain('client iamctl-cli is disabled or does not exist')
      // Refused before a person was asked.
      expect(stderr).not.toContain('http')
    }
})
