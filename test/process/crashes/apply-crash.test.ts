/**
 * The server, or the program that applies, is killed at any moment of an apply. Afterwards the realm is what it was or
 * what the files say, never something between, and running the apply again finishes it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from 'js-yaml'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Doc } from '#schemas/json-schema.ts'
import { desiredOf } from '#schemas/realm/desired.ts'
import { flatten } from '#schemas/realm/realm-document.ts'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { withStorage } from '../../support/database/sealed-values.ts'
import { newHome } from '../../support/processes/cli.ts'
import { spawnCli } from '../../support/processes/processes.ts'
import {
  adminPassword,
  newInstallation,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from '../../support/processes/server-process.ts'
import { isLong, randomFrom, seed } from '../../support/run/chance.ts'

/** On each database. */
const kills = isLong ? 100 : 2
const minutes = 60_000

/** Two states of a realm that share some documents, change others and have some of their own. */
const states = (['a', 'b'] as const).map((name, i) => {
  const roles = Array.from({ length: 60 }, (_, n) => `  - { name: role-${n + 20 * i} }\n`)
  const clients = Array.from(
    { length: 60 },
    (_, n) =>
      `  - { clientId: client-${n + 20 * i}, name: ${name}, publicClient: true, roles: [{ name: reader }] }\n`,
  )
  return `realm: crash\nroles:\n${roles.join('')}clients:\n${clients.join('')}`
})

type Hashes = Readonly<Record<string, string>>

const sorted = (entries: readonly (readonly [string, string])[]): Hashes =>
  Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))

const expected = (text: string): Hashes =>
  sorted(
    flatten(load(text) as Doc)
      .entries.map(desiredOf)
      .map(({ kind, key, hash }) => [`${kind.kind} ${key}`, hash]),
  )

const found = async (server: ServerProcess): Promise<Hashes> => {
  const admin = await server.admin()
  const { status, body } = await admin.send('GET', '/admin/realms/crash/export')
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  const documents = body.meta.documents as Record<string, Record<string, { hash: string }>>
  return sorted(
    Object.entries(documents).flatMap(([kind, keys]) =>
      Object.entries(keys).map(([key, { hash }]) => [`${kind} ${key}`, hash] as const),
    ),
  )
}

/** What the killed server had sent may still be under way in PostgreSQL. */
const untilQuiet = async (url: string): Promise<void> => {
  if (url.startsWith('sqlite:')) return
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const others = `select 1 from pg_stat_activity where datname = current_database()
    and backend_type = 'client backend' and pid <> pg_backend_pid()`
  while ((await client.query(others)).rows.length > 0) await sleep(10)
  await client.end()
}

describe.each(backends)('an apply that is killed ($name)', (backend) => {
  it(`leaves the realm as it was or as the files say, ${kills} times`, {
    timeout: 30 * minutes,
  }, async () => {
    const random = randomFrom(seed)
    const installation = await newInstallation(backend)
    const folder = temporaryFolder()
    const home = newHome({ IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: adminPassword })
    onTestFinished(home.remove)
    let server = await startServerProcess(installation, '--log-level', 'warn')
    const apply = () => {
      const args = ['apply', 'realm.yaml', '--auto-approve', '--quiet', '--max-deletions', '1000']
      const env = { ...home.env, IAMCTL_SERVER: server.url }
      return spawnCli(args, { env, cwd: folder })
    }
    const finish = async (): Promise<void> => {
      const done = apply()
      expect(await done.exited, done.stderr()).toMatchObject({ code: 0 })
    }
    writeFileSync(join(folder, 'realm.yaml'), states[0] ?? '')
    const begun = performance.now()
    await finish()
    const usual = performance.now() - begun

    const outcomes = { before: 0, after: 0 }
    for (let kill = 1; kill <= kills; kill += 1) {
      const [from = '', to = ''] = kill % 2 === 1 ? states : states.toReversed()
      writeFileSync(join(folder, 'realm.yaml'), to)
      const applying = apply()
      await sleep(usual * (0.2 + random()))
      // Either of both; then the other one as well, so that the database stands still.
      if (random() < 0.5) {
        applying.kill('SIGKILL')
        await applying.exited
        await server.kill()
      } else {
        await server.kill()
        applying.kill('SIGKILL')
        await applying.exited
      }
      await untilQuiet(installation.databaseUrl)
      const message = `after kill ${kill} of ${kills}, seed ${seed}`
      await withStorage(installation.databaseUrl, async (storage) =>
        expect(await faultsOf(storage), message).toEqual([]),
      )
      server = await startServerProcess(installation, '--log-level', 'warn')
      const now = await found(server)
      const isDone = JSON.stringify(now) === JSON.stringify(expected(to))
      if (!isDone) expect(now, message).toEqual(expected(from))
      outcomes[isDone ? 'after' : 'before'] += 1
      await finish()
      expect(await found(server), message).toEqual(expected(to))
    }
    await server.stop()
    process.stdout.write(
      `apply killed (${backend.name}): ${kills} kills, ${outcomes.before} as before, ${outcomes.after} applied, seed ${seed}\n`,
    )
  })
})
