/** `iamctl login` to a realm whose database has lost the client of the command line, which no request can delete. */
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { type Backend, backends } from '../../../support/backends.ts'
import { newHome } from '../../../support/processes/cli.ts'
import { newInstallation, startServerProcess } from '../../../support/processes/server-process.ts'
import { fakeBrowser } from './fixture.ts'

const sqlite = backends.find(({ name }) => name === 'sqlite') as Backend

it('is refused at once, with the other ways to sign in', async () => {
  const installation = await newInstallation(sqlite)
  const first = await startServerProcess(installation)
  const admin = await first.admin()
  expect((await admin.send('POST', '/admin/realms', { realm: 'acme' })).status).toBe(201)
  const path = '/admin/realms/acme/clients/iamctl-cli'
  expect((await admin.send('DELETE', path)).status).toBe(409)
  await first.stop()

  const database = new DatabaseSync(installation.databaseUrl.slice('sqlite:'.length))
  const remove = "delete from documents where realm = 'acme' and key = 'iamctl-cli'"
  expect(database.prepare(remove).run().changes).toBe(1)
  database.close()

  const server = await startServerProcess(installation)
  onTestFinished(async () => {
    await server.stop()
  })
  expect((await (await server.admin()).send('GET', path)).status).toBe(404)
  const home = newHome({ IAMCTL_SERVER: server.url })
  onTestFinished(home.remove)
  const env = { BROWSER: fakeBrowser(home).command }
  for (const flags of [[], ['--device']]) {
    const { code, stderr } = await home.run(['login', '--auth-realm', 'acme', ...flags], { env })
    expect(code, stderr).toBe(4)
    expect(stderr).toMatch(/client iamctl-cli is disabled or does not exist.*--auth-realm/s)
    // Refused before a person was asked.
    expect(stderr).not.toContain('http')
  }
})
