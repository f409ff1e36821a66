/** The first start on an empty database: the first administrator, files on disk, and printed secrets. */
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import argon2 from 'argon2'
import { describe, expect, it } from 'vitest'
import { openStorage } from '#server/storage/open.ts'
import { backends } from '../../support/backends.ts'
import { signIn } from '../../support/processes/browserless.ts'
import { freePort } from '../../support/processes/ports.ts'
import { spawnCli } from '../../support/processes/processes.ts'
import {
  adminPassword,
  newInstallation,
  newMasterKey,
  runCli,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'

const embedded = (env: Record<string, string> = {}) => ({
  args: ['--data', join(temporaryFolder(), 'data')],
  env,
})

const shownPassword = (text: string): string | undefined => /password\s+(\S+)\n/.exec(text)?.[1]

describe('the first administrator', () => {
  it('gets a random password that is shown once, on stderr, is in no log, and stays when a later start is given another', async () => {
    const { args } = embedded()
    const first = await startServerProcess({ args, env: {} })
    const password = shownPassword(first.process.stderr()) ?? ''
    expect(password).toMatch(/^[\w-]{20,}$/)
    await signIn(first.url, 'master', 'admin', password)
    await first.stop()
    expect(first.output().split(password)).toHaveLength(2)
    expect(first.process.stdout()).not.toContain(password)

    const second = await startServerProcess({
      args,
      env: { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword },
    })
    await signIn(second.url, 'master', 'admin', password)
    await expect(second.admin()).rejects.toThrow('401')
    await second.stop()
    expect(second.output()).not.toContain(password)
    expect(shownPassword(second.output())).toBeUndefined()
  })

  it('can sign in from the moment that the server is ready', async () => {
    const { args, env } = embedded({ IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword })
    const port = await freePort()
    // With keys that it makes itself: that takes the longest.
    const server = spawnCli(['server', ...args, '--port', String(port)], { env })
    const url = `http://127.0.0.1:${port}`
    const statusOf = async (path: string): Promise<number | undefined> =>
      fetch(`${url}${path}`).then(
        ({ status }) => status,
        () => undefined,
      )
    const seen = new Set<number | undefined>()
    for (let last: number | undefined; last !== 200; ) {
      last = await statusOf('/monitoring/health/readiness')
      seen.add(last)
    }
    expect(await statusOf('/realms/master/login?continue=/account')).toBe(200)
    await signIn(url, 'master', 'admin', adminPassword)
    expect([...seen]).toEqual(expect.arrayContaining([503, 200]))
    server.kill('SIGTERM')
    await server.exited
  })

  it('is told also when the stop is asked for before the start is over', async () => {
    const { args } = embedded()
    const port = await freePort()
    // With keys that it makes itself.
    const first = spawnCli(['server', ...args, '--port', String(port)])
    await first.waitForLine(/schema was brought up to date/)
    first.kill('SIGTERM')
    expect(await first.exited).toEqual({ code: 0, signal: null })
    const second = await startServerProcess({ args, env: {} })
    const password = shownPassword(first.stderr()) ?? ''
    await signIn(second.url, 'master', 'admin', password)
    await second.stop()
  })

  it.each([
    ['IAMCTL_BOOTSTRAP_ADMIN_PASSWORD', () => adminPassword],
    [
      'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_FILE',
      () => {
        const file = join(temporaryFolder(), 'password')
        writeFileSync(file, `${adminPassword}\n`)
        return file
      },
    ],
    [
      'IAMCTL_BOOTSTRAP_ADMIN_PASSWORD_HASH',
      () => argon2.hash(adminPassword, { memoryCost: 19_456, timeCost: 2, parallelism: 1 }),
    ],
  ])('signs in with what %s gave, which is never shown', async (name, make) => {
    const value = await make()
    const server = await startServerProcess(embedded({ [name]: value }))
    const admin = await server.admin()
    expect((await admin.send('GET', '/admin/realms')).status).toBe(200)
    await expect(signIn(server.url, 'master', 'admin', `${adminPassword}!`)).rejects.toThrow('401')
    await server.stop()
    expect(server.output()).toContain('(as you gave it)')
    expect(server.output()).not.toContain(adminPassword)
    expect(server.output()).not.toContain(name.endsWith('FILE') ? adminPassword : value)
  })

  it.each(backends)(
    'whose password the policy refuses leaves nothing half made on $name',
    async (backend) => {
      const { args, env, databaseUrl } = await newInstallation(backend)
      const weak = { ...env, IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: 'password1' }
      const refused = await runCli(['server', ...args, '--port', String(await freePort())], weak)
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/^iamctl: the first administrator cannot be made: [^\n]+\n$/)
      expect(refused.stderr).toMatch(/12 characters.*breach/)
      expect(refused.stdout + refused.stderr).not.toContain('password1')

      const storage = await openStorage({ url: databaseUrl })
      for (const table of ['realms', 'documents', 'users', 'signing_keys', 'audit_events'] as const)
        expect(await storage.db.selectFrom(table).selectAll().execute()).toEqual([])
      await storage.close()

      const server = await startServerProcess({ args, env })
      await server.admin()
      await server.stop()
    },
  )

  it.each(backends.filter(({ name }) => name === 'postgres'))(
    'is made once, and shown once, by nodes that start together on $name',
    async (backend) => {
      const { args, env } = await newInstallation(backend)
      const { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: _, ...random } = env
      const installation = { args, env: random }
      const nodes = await Promise.all([
        startServerProcess(installation),
        startServerProcess(installation, '--workers', '2'),
      ])
      const shown = nodes.flatMap(({ output }) => shownPassword(output()) ?? [])
      expect(shown).toHaveLength(1)
      for (const { url } of nodes) await signIn(url, 'master', 'admin', shown[0] ?? '')
      for (const node of nodes) expect(await node.stop()).toEqual({ code: 0, signal: null })
      for (const { output } of nodes) expect(output().split(shown[0] ?? '').length).toBeLessThan(3)
    },
  )
})

describe('the files of an embedded server', () => {
  it('are for their owner alone, while it runs and afterwards', async () => {
    const folder = join(temporaryFolder(), 'deep', 'data')
    const server = await startServerProcess({ args: ['--data', folder], env: {} })
    const modes = (): Record<string, string> =>
      Object.fromEntries(
        readdirSync(folder).map((name) => [
          name,
          (statSync(join(folder, name)).mode & 0o777).toString(8),
        ]),
      )
    const running = modes()
    expect(Object.keys(running)).toEqual(
      expect.arrayContaining(['iamctl.db', 'iamctl.db-wal', 'master.key']),
    )
    expect(new Set(Object.values(running))).toEqual(new Set(['600']))
    for (const one of [folder, join(folder, '..')])
      expect((statSync(one).mode & 0o777).toString(8)).toBe('700')
    await server.stop()
    expect(new Set(Object.values(modes()))).toEqual(new Set(['600']))
    expect(readdirSync(folder)).not.toContain('iamctl.db-wal')
  })
})

describe('what a server writes', () => {
  it('holds no password, key, cookie, token or secret, whatever went well or wrong', async () => {
    const key = newMasterKey()
    const env = { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword, IAMCTL_MASTER_KEY: key }
    const server = await startServerProcess(embedded({ ...env, IAMCTL_LOG_LEVEL: 'trace' }))
    const admin = await server.admin()
    const base = '/admin/realms/master'
    const made = await admin.send('POST', `${base}/clients`, { clientId: 'web' })
    const webhookSecret = 'sixteen candles burn at both ends'
    const webhook = { name: 'hook', url: 'https://hook.example/', eventTypes: '*' }
    await admin.send('POST', `${base}/webhooks`, { ...webhook, secret: webhookSecret })
    const given = 'a-client-secret-of-more-than-32-characters'
    await admin.send('POST', `${base}/clients`, { clientId: 'app', secret: given })
    const user = await admin.send('POST', `${base}/users`, { username: 'ann' })
    const userPassword = 'eleven purple teapots sing'
    const password = { newPassword: userPassword }
    expect(
      (await admin.send('PUT', `${base}/users/${user.body.userId}/password`, password)).status,
    ).toBe(204)
    // Also in error cases: a wrong password, an invalid body, a conflict, an invalid query.
    const wrong = 'the wrong horse battery staple'
    await expect(signIn(server.url, 'master', 'admin', wrong)).rejects.toThrow('401')
    await admin.send('POST', `${base}/clients`, { clientId: 'web', secret: given, nonsense: wrong })
    await admin.send('POST', `${base}/clients`, { clientId: 'web', secret: given })
    await admin.send('GET', `${base}/clients?secret=${given}`)
    await admin.send('GET', `/realms/master/${given}`, undefined, {
      authorization: `Bearer ${given}`,
    })
    await server.stop()

    const session = admin.cookie('iam-session-master') ?? ''
    const token = admin.cookie('XSRF-TOKEN') ?? ''
    const secrets = { adminPassword, key, webhookSecret, userPassword, wrong, session, token }
    expect(made.body.secret).toMatch(/^.{32,}$/)
    for (const [name, value] of Object.entries({ ...secrets, generated: made.body.secret })) {
      expect(value.length, name).toBeGreaterThan(10)
      expect(server.output().includes(value), name).toBe(false)
    }
    // A path is logged as it is, since it is no place for secrets; headers, queries and bodies are not.
    const lines = server.output().split('\n')
    expect(lines.filter((line) => line.includes(given))).toHaveLength(1)
  })
})
