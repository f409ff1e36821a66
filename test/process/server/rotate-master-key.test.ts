/** `iamctl server rotate-master-key`: the old key opens nothing afterwards, and nothing is lost, also after a crash. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { anyBackend, type Backend, backends } from '../../support/backends.ts'
import {
  bytesOf,
  dump,
  kidsIn,
  openAll,
  ringOf,
  sealedValues,
  watchKidsInFile,
  withStorage,
} from '../../support/database/sealed-values.ts'
import type { Browserless } from '../../support/processes/browserless.ts'
import { spawnCli } from '../../support/processes/processes.ts'
import {
  type Ended,
  type Installation,
  newInstallation,
  newMasterKey,
  runCli,
  startServerProcess,
} from '../../support/processes/server-process.ts'

interface Keyed extends Installation {
  readonly keyFile: string
  readonly keys: () => string
}

/** Embedded with the key that the server made; on PostgreSQL with a key file, which a running server follows. */
const install = async (backend: Backend): Promise<Keyed> => {
  const made = await newInstallation(backend)
  const { IAMCTL_MASTER_KEY: _, ...env } = made.env
  const embedded = backend.name === 'sqlite'
  const keyFile = embedded ? join(made.data, 'master.key') : join(made.data, '..', 'key')
  if (!embedded) writeFileSync(keyFile, `${newMasterKey()}\n`, { mode: 0o600 })
  const args = embedded ? made.args : [...made.args, '--master-key-file', keyFile]
  return { ...made, env, args, keyFile, keys: () => readFileSync(keyFile, 'utf8') }
}

const isEmbedded = ({ databaseUrl }: Installation): boolean => databaseUrl.startsWith('sqlite:')

/** As an operator does it: the new file takes the place of the old one as a whole. */
const replaceKeys = ({ keyFile }: Keyed, text: string): void => {
  writeFileSync(`${keyFile}.new`, text, { mode: 0o600 })
  renameSync(`${keyFile}.new`, keyFile)
}

/** The whole procedure: where the key is ours, first a new one in front, afterwards only that one. */
const rotate = async (installation: Keyed): Promise<Ended> => {
  const { args, keys } = installation
  if (isEmbedded(installation)) return runCli(['server', 'rotate-master-key', ...args])
  replaceKeys(installation, `${newMasterKey()}\n${keys()}`)
  const ended = await runCli(['server', 'rotate-master-key', ...args])
  if (ended.code === 0) replaceKeys(installation, `${keys().split('\n')[0]}\n`)
  return ended
}

const hook = (name: string, secret?: string) => ({
  name,
  url: 'https://hook.example/',
  eventTypes: '*',
  ...(secret === undefined ? {} : { secret }),
})

const base = '/admin/realms/master'
const otpSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

const expectStatus = async (answer: ReturnType<Browserless['send']>, status: number) => {
  const { status: got, body } = await answer
  expect(got, JSON.stringify(body)).toBe(status)
  return body
}

/** Secrets of each sort, and their history: changed, deleted, only hashed, and a body that looks like one. */
const fill = async (admin: Browserless): Promise<void> => {
  const post = (path: string, body: unknown) => expectStatus(admin.send('POST', path, body), 201)
  const { id } = await post(`${base}/webhooks`, hook('kept', 'the first secret of kept'))
  const changed = hook('kept', 'the second secret of kept')
  await expectStatus(admin.send('PUT', `${base}/webhooks/${id}`, changed), 200)
  await post(`${base}/webhooks`, hook('deleted', 'the secret of deleted'))
  await expectStatus(admin.send('DELETE', `${base}/webhooks/deleted`), 204)
  await post(`${base}/clients`, { clientId: 'web', attributes: { kid: 'abcd1234', v: 'AAAA' } })
  await post('/admin/realms', { realm: 'acme' })
  const settings = await expectStatus(admin.send('GET', '/admin/realms/acme/settings'), 200)
  const revealable = { ...settings, clientSecretStorage: 'revealable' }
  await expectStatus(admin.send('PUT', '/admin/realms/acme/settings', revealable), 200)
  const secret = 'a client secret of more than 32 characters'
  await post('/admin/realms/acme/clients', { clientId: 'jwt', secret })
  const { userId } = await post('/admin/realms/acme/users', { username: 'anna' })
  const credentials = `/admin/realms/acme/users/${userId}/credentials`
  await post(credentials, { type: 'otp', secret: otpSecret })
  await post(credentials, { type: 'recovery-codes' })
}

/** What is only ever compared: secrets, passwords and recovery codes. */
const hashes = (url: string): Promise<string[]> =>
  withStorage(url, async ({ db }) => {
    const rows = await db.selectFrom('documents').select('sealed').orderBy('id').execute()
    const credentials = await db
      .selectFrom('credentials')
      .select('secret')
      .where('type', '!=', 'otp')
      .orderBy('id')
      .execute()
    return [
      ...rows.flatMap(({ sealed }) => [...(sealed ?? '').matchAll(/"hmac":"[^"]+"/g)].flat()),
      ...credentials.map(({ secret }) => secret),
    ]
  })

const plainSecrets = [
  'the first secret of kept',
  'the second secret of kept',
  'the secret of deleted',
  'a client secret of more than 32 characters',
  JSON.stringify({ secret: otpSecret, algorithm: 'SHA1', digits: 6, period: 30 }),
]

/** Nothing refers to another key than the present one, and everything opens with that one alone. */
const expectRotated = async ({ databaseUrl, keys }: Keyed, oldKeys: string): Promise<void> => {
  const present = keys()
  expect(present.trim().split('\n')).toHaveLength(1)
  const values = await sealedValues(databaseUrl)
  expect(new Set(values.map(({ kid }) => kid))).toEqual(new Set([ringOf(present).activeKid]))
  openAll(values, present)
  for (const old of oldKeys.trim().split('\n')) {
    expect(old).not.toBe(present.trim())
    const { activeKid } = ringOf(old)
    expect(await dump(databaseUrl)).not.toContain(activeKid)
    expect(bytesOf(databaseUrl)).not.toContain(`"kid":"${activeKid}"`)
    for (const value of values) expect(() => openAll([value], old)).toThrow('not loaded')
  }
}

describe.each(anyBackend)('rotating the master key on $name', (backend) => {
  it('seals everything anew; the old key opens nothing, hashes and secrets stay', async () => {
    const installation = await install(backend)
    const { args, env, databaseUrl, keys, keyFile } = installation
    const server = await startServerProcess(installation)
    await fill(await server.admin())
    await server.stop()
    const oldKeys = keys()
    const before = await sealedValues(databaseUrl)
    const plain = openAll(before, oldKeys)
    expect(plain).toEqual(expect.arrayContaining(plainSecrets))
    expect(await dump(databaseUrl)).toContain(ringOf(oldKeys).activeKid)
    const hashed = await hashes(databaseUrl)
    expect(hashed).toHaveLength(3)

    const ended = await rotate(installation)
    expect(ended.stderr).toMatch(/^\d+ values encrypted again; all values use master key \w+\n$/)
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 0, stdout: '' })
    await expectRotated(installation, oldKeys)
    expect(openAll(await sealedValues(databaseUrl), keys())).toEqual(plain)
    expect(await hashes(databaseUrl)).toEqual(hashed)

    const kept = `${keyFile}.old`
    writeFileSync(kept, oldKeys, { mode: 0o600 })
    const refused = await runCli(['server', ...args, '--master-key-file', kept], env)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(
      /^iamctl: the master key is not the one of this database[^\n]+\n$/,
    )

    const next = await startServerProcess(installation)
    const admin = await next.admin()
    const webhook = await expectStatus(admin.send('GET', `${base}/webhooks/kept`), 200)
    expect(webhook).toMatchObject({ secret: null, secretSet: true })
    await expectStatus(admin.send('PUT', `${base}/webhooks/kept`, hook('kept')), 200)
    await next.stop()
    expect(openAll(await sealedValues(databaseUrl), keys())).toEqual(expect.arrayContaining(plain))
  })

  it('that is interrupted again and again leaves everything readable, and ends when it is let', async () => {
    const installation = await install(backend)
    const { args, databaseUrl, keys } = installation
    const server = await startServerProcess(installation)
    const admin = await server.admin()
    const names = Array.from({ length: 160 }, (_, n) => `hook-${n}`)
    const make = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined; name = names.pop())
        await expectStatus(admin.send('POST', `${base}/webhooks`, hook(name, `of ${name}`)), 201)
    }
    await Promise.all(Array.from({ length: 8 }, make))
    await server.stop()
    const firstKeys = keys()
    const plain = openAll(await sealedValues(databaseUrl), firstKeys)
    expect(plain.length).toBeGreaterThan(320)

    let interrupted = 0
    for (let attempt = 0; interrupted < 2; attempt += 1) {
      expect(attempt, 'rotations that ended before they could be killed').toBeLessThan(20)
      if (!isEmbedded(installation)) replaceKeys(installation, `${newMasterKey()}\n${keys()}`)
      await killAfterFirstChange(installation)
      const values = await sealedValues(databaseUrl)
      // At every point of the rotation, the keys that are still in the file open all values.
      expect(openAll(values, keys())).toEqual(plain)
      if (new Set(values.map(({ kid }) => kid)).size > 1) interrupted += 1
      removeStaleLock(installation)
    }
    if (isEmbedded(installation)) {
      // A server starts on what an interrupted rotation has left.
      const between = await startServerProcess(installation)
      const some = await (await between.admin()).send('GET', `${base}/webhooks/hook-7`)
      expect(some.body).toMatchObject({ secretSet: true })
      await between.stop()
    }
    const ended = await runCli(['server', 'rotate-master-key', ...args])
    expect(ended.stderr).toMatch(/^\d+ values encrypted again/)
    if (!isEmbedded(installation)) replaceKeys(installation, `${keys().split('\n')[0]}\n`)
    await expectRotated(installation, firstKeys)
    expect(openAll(await sealedValues(databaseUrl), keys())).toEqual(plain)
  })

  it('with a wrong folder or key changes and makes nothing', async () => {
    const installation = await install(backend)
    const { args, databaseUrl, keys, data } = installation
    await (await startServerProcess(installation)).stop()
    const before = await dump(databaseUrl)
    const env = { IAMCTL_MASTER_KEY: newMasterKey() }
    const withoutFile = args.slice(0, args.includes('--master-key-file') ? -2 : undefined)
    const wrongKey = await runCli(['server', 'rotate-master-key', ...withoutFile], env)
    expect(wrongKey.stderr).toMatch(/^iamctl: the master key is not the one [^\n]+\n$/)
    const nowhere = join(data, 'nowhere')
    const wrongFolder = await runCli(['server', 'rotate-master-key', '--data', nowhere])
    expect(wrongFolder.stderr).toMatch(/^iamctl: the master key file [^\n]+ does not exist\n$/)
    expect([wrongKey.code, wrongFolder.code]).toEqual([1, 1])
    expect(existsSync(nowhere)).toBe(false)
    expect(await dump(databaseUrl)).toBe(before)
    expect(keys().trim().split('\n')).toHaveLength(1)
  })
})

/** Starts a rotation and kills it as soon as it has changed something. */
const killAfterFirstChange = async (installation: Keyed): Promise<void> => {
  const { args, databaseUrl } = installation
  const known = new Set((await sealedValues(databaseUrl)).map(({ kid }) => kid))
  const rotation = spawnCli(['server', 'rotate-master-key', ...args])
  let running = true
  const ended = rotation.exited.then(() => {
    running = false
  })
  const watch = await watchKids(databaseUrl)
  while (running && [...(await watch.kids())].every((kid) => known.has(kid))) await sleep(1)
  rotation.kill('SIGKILL')
  await ended
  await watch.close()
}

const watchKids = async (url: string) => {
  if (url.startsWith('sqlite:')) {
    const { kids, close } = watchKidsInFile(url.slice('sqlite:'.length))
    return { kids: async () => kids(), close: async () => close() }
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    kids: async () => {
      const { rows } = await client.query<{ sealed: string }>(
        'select sealed from documents where sealed is not null',
      )
      return kidsIn(rows.map(({ sealed }) => sealed))
    },
    close: () => client.end(),
  }
}

/** Killed in the moment when it replaces the key file, a rotation leaves its draft, and the next one asks for this. */
const removeStaleLock = ({ keyFile }: Keyed): void => rmSync(`${keyFile}.lock`, { force: true })

describe.each(backends.filter(({ name }) => name === 'postgres'))(
  'rotating the master key of a running server on $name',
  (backend) => {
    it('leaves nothing under the old key, although clients write all the time', async () => {
      const installation = await install(backend)
      const { args, databaseUrl, keys } = installation
      const servers = await Promise.all([
        startServerProcess(installation),
        startServerProcess(installation, '--workers', '2'),
      ])
      const admins = await Promise.all(servers.map((server) => server.admin()))
      const [first] = admins
      if (!first) throw new Error('no server')
      await fill(first)
      const oldKeys = keys()
      const secrets = new Map<string, string>()
      let writing = true
      // New secrets, changed ones, and changes that carry an old secret along.
      const write = async (admin: Browserless, writer: number): Promise<void> => {
        for (let n = 0; writing; n += 1) {
          const name = `hook-${writer}-${n}`
          const path = `${base}/webhooks/${name}`
          await expectStatus(
            admin.send('POST', `${base}/webhooks`, hook(name, `1 of ${name}`)),
            201,
          )
          const again = n % 2 === 0 ? `2 of ${name}` : undefined
          await expectStatus(admin.send('PUT', path, { ...hook(name, again), enabled: false }), 200)
          secrets.set(name, again ?? `1 of ${name}`)
        }
      }
      const writers = Promise.all([...admins, ...admins].map(write))
      writers.catch(() => {})
      const until = async (count: number): Promise<void> => {
        while (secrets.size < count) await Promise.race([sleep(5), writers])
      }
      await until(20)
      replaceKeys(installation, `${newMasterKey()}\n${oldKeys}`)
      const made = secrets.size
      const ended = await runCli(['server', 'rotate-master-key', ...args])
      expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^\d+ values/) })
      expect(secrets.size).toBeGreaterThan(made)
      replaceKeys(installation, `${keys().split('\n')[0]}\n`)
      await until(secrets.size + 20)
      writing = false
      await writers
      for (const server of servers) expect((await server.stop()).code).toBe(0)

      await expectRotated(installation, oldKeys)
      const values = await sealedValues(databaseUrl)
      const plain = openAll(values, keys())
      const opened = new Map(values.map(({ where }, i) => [where, plain[i]]))
      for (const [name, secret] of secrets)
        expect(opened.get(`webhook ${name} /secret`)).toBe(secret)
    })
  },
)
