/** One server for the tests of a file, with the realm `acme` and its user alice, and homes to call it from. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { Browserless } from '../../support/processes/browserless.ts'
import { type Home, newHome } from '../../support/processes/cli.ts'
import {
  adminPassword,
  type ServerProcess,
  startServerProcess,
} from '../../support/processes/server-process.ts'

export const alicePassword = 'alices own long password 7'

export interface World {
  readonly server: ServerProcess
  readonly admin: Browserless
  /** Where the administrator is signed in, and the realm is `acme`. */
  readonly home: Home
}

/** Lives as long as the tests of the file. */
export const startWorld = (): (() => World) => {
  const data = mkdtempSync(join(tmpdir(), 'iamctl-commands-'))
  let world: World | undefined
  beforeAll(async () => {
    const server = await startServerProcess({
      args: ['--data', data],
      env: { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword },
    })
    const admin = await server.admin()
    const home = newHome({ IAMCTL_SERVER: server.url, IAMCTL_REALM: 'acme' })
    world = { server, admin, home }
    await expectStatus(admin.send('POST', '/admin/realms', { realm: 'acme' }), 201)
    const acme = '/admin/realms/acme'
    const alice = { username: 'alice', email: 'alice@acme.example', enabled: true }
    await expectStatus(admin.send('POST', `${acme}/users`, alice), 201)
    const password = { newPassword: alicePassword }
    await expectStatus(admin.send('PUT', `${acme}/users/alice/password`, password), 204)
    const { code, stderr } = await home.run(['login'], { env: credentials })
    if (code !== 0) throw new Error(stderr)
  })
  afterAll(async () => {
    world?.home.remove()
    await world?.server.stop()
    rmSync(data, { recursive: true, force: true })
  })
  return () => {
    if (world === undefined) throw new Error('the server has not started')
    return world
  }
}

const expectStatus = async (
  answer: Promise<{ status: number; body: unknown }>,
  status: number,
): Promise<void> => {
  const { status: found, body } = await answer
  if (found !== status) throw new Error(`${found} ${JSON.stringify(body)}`)
}

/** A home that goes with the test and knows the server, and nothing of anybody. */
export const freshHome = ({ server }: World, env: Readonly<Record<string, string>> = {}): Home => {
  const home = newHome({ IAMCTL_SERVER: server.url, ...env })
  onTestFinished(home.remove)
  return home
}

export const credentials = {
  IAMCTL_USERNAME: 'admin',
  IAMCTL_PASSWORD: adminPassword,
} as const

/** The same, as the administrator and about the realm `acme`: what a pipeline has. */
export const adminHome = (world: World): Home =>
  freshHome(world, { ...credentials, IAMCTL_REALM: 'acme' })
