/**
 * The server is killed again and again while clients write. After each kill every acknowledged write is there, what
 * was under way is there as a whole or not at all, and everything in the database fits together.
 */
import { describe, expect, it } from 'vitest'
import { backends } from '../../support/backends.ts'
import { faultsOf } from '../../support/database/integrity.ts'
import { withStorage } from '../../support/database/sealed-values.ts'
import { findWritten } from '../../support/expected-state.ts'
import { newInstallation, startServerProcess } from '../../support/processes/server-process.ts'
import { isLong, randomFrom, seed } from '../../support/run/chance.ts'
import { createWriter } from '../../support/writers.ts'
import { untilQuiet } from './killed-server.ts'

const kills = isLong ? 50 : 2
const minutes = 60_000

describe.each(backends)('a server that is killed while clients write ($name)', (backend) => {
  it(`loses nothing and leaves nothing half, ${kills} times`, {
    timeout: 20 * minutes,
  }, async () => {
    const random = randomFrom(seed)
    const installation = await newInstallation(backend)
    const { databaseUrl } = installation
    const realm = 'crash'
    const writers = [
      ...Array.from({ length: 6 }, (_, n) =>
        createWriter(`w${n}`, realm, randomFrom(seed + n + 1)),
      ),
      createWriter('r0', null, randomFrom(seed + 100)),
    ]
    const prefixes = writers.map(({ prefix }) => prefix)
    const first = await startServerProcess(installation)
    const made = await (await first.admin()).send('POST', '/admin/realms', { realm })
    expect(made.status).toBe(201)
    await first.stop()

    let undecided = 0
    for (let kill = 1; kill <= kills; kill += 1) {
      const server = await startServerProcess(installation, '--log-level', 'warn')
      const admin = await server.admin()
      const before = writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
      const writing = Promise.all(writers.map((writer) => writer.run(admin)))
      // Not before something was written, then at any moment.
      const some = before + 10 + Math.floor(random() * 150)
      const enough = async (): Promise<void> => {
        while (writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0) < some)
          await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await Promise.race([writing, enough()])
      await server.kill()
      await writing
      expect(server.process.stderr()).toMatch(/^iamctl \S+ is ready[^\n]*\n$/)
      await untilQuiet(databaseUrl)

      const message = `after kill ${kill} of ${kills}, seed ${seed}`
      await withStorage(databaseUrl, async (storage) => {
        expect(await faultsOf(storage), message).toEqual([])
        const found = await findWritten(storage, realm, prefixes)
        for (const writer of writers) {
          const there = found.get(writer.prefix) ?? {}
          const happened = JSON.stringify(sorted(there)) === JSON.stringify(sorted(writer.underWay))
          if (happened) undecided += 1
          expect(sorted(there), message).toEqual(sorted(happened ? writer.underWay : writer.state))
          writer.resume(there)
        }
      })
    }

    const last = await startServerProcess(installation, '--log-level', 'warn')
    const admin = await last.admin()
    const clients = await admin.send('GET', `/admin/realms/${realm}/clients`)
    const names = clients.body.map(({ clientId }: { clientId: string }) => `client ${clientId}`)
    const written = writers.flatMap(({ state }) => Object.keys(state))
    const expected = ['client iamctl-cli', ...written]
    expect(names.toSorted()).toEqual(
      expected.filter((name) => name.startsWith('client ')).toSorted(),
    )
    expect(await last.stop()).toEqual({ code: 0, signal: null })
    const total = writers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
    process.stdout.write(
      `crash (${backend.name}): ${kills} kills, ${total} acknowledged writes, ${undecided} unanswered ones that happened, seed ${seed}\n`,
    )
  })
})

const sorted = (state: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(state).toSorted(([a], [b]) => (a < b ? -1 : 1))
