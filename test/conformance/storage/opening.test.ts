/** Opening a database: refusals with their messages, several processes at once, and a server that comes up late. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Storage, StorageUnavailableError } from '#server/storage/contract.ts'
import { migrations } from '#server/storage/migrations/index.ts'
import { openStorage } from '#server/storage/open.ts'
import { backends } from '../../support/backends.ts'
import { freePort } from '../../support/processes/ports.ts'

const refusalOf = async (url: string): Promise<string> => {
  const error = await openStorage({ url }).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StorageUnavailableError)
  const { message } = error as StorageUnavailableError
  expect(message).not.toContain('\n')
  return message
}

const appliedNames = async ({ db }: Storage): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`select name from schema_migrations`.execute(db)
  return rows.map(({ name }) => name)
}

describe('a database URL', () => {
  it.each([
    ['', 'not understood'],
    ['/var/lib/iamctl.db', 'not understood'],
    ['mysql://root:hunter2@localhost/x', 'not understood'],
    ['sqlite:', 'names no file'],
    ['sqlite::memory:', 'names no file'],
    ['sqlite://data/x.db', 'relative path'],
    ['postgres://user:hunter2#%@[/x', 'not valid'],
  ])('is refused in one line without its password: %s', async (url, reason) => {
    const message = await refusalOf(url)
    expect(message).toContain(reason)
    expect(message).not.toContain('hunter2')
  })

  it('of a server that does not answer is refused with its address and without the password', async () => {
    const port = await freePort()
    const message = await refusalOf(`postgres://user:hunter2@127.0.0.1:${port}/iam`)
    expect(message).toContain(`127.0.0.1:${port}/iam`)
    expect(message).toContain('ECONNREFUSED')
    expect(message).not.toContain('hunter2')
  })

  it('of a file that is no database is refused with its path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'iamctl-'))
    try {
      const file = join(folder, 'notes.txt')
      await writeFile(file, 'these are notes, '.repeat(1000))
      expect(await refusalOf(`sqlite:${file}`)).toBe(
        `cannot open the database ${file}: file is not a database`,
      )
      const below = await refusalOf(`sqlite:${join(file, 'x.db')}`)
      expect(below).toContain('cannot create the database')
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe.each(backends)('opening on $name', ({ name, create, open }) => {
  const cleanups: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  it('runs every migration, and nothing at the next start', async () => {
    const { url, remove } = await create()
    cleanups.push(remove)
    for (let start = 0; start < 2; start += 1) {
      const storage = await openStorage({ url })
      expect(await appliedNames(storage)).toEqual(migrations.map((migration) => migration.name))
      await storage.close()
    }
  })

  it('is refused for a database that a newer version made, and leaves it alone', async () => {
    const { url, storage, close } = await open()
    cleanups.push(close)
    const sqlText = `insert into schema_migrations values ('9999-of-the-future', 0)`
    await storage.commit([{ sql: sqlText, parameters: [] }])
    await storage.close()
    const message = await refusalOf(url)
    expect(message).toContain('was made by a newer iamctl')
    expect(message).toContain('9999-of-the-future')
  })

  it('at the same time by several: the schema is made once', async () => {
    const { url, remove } = await create()
    cleanups.push(remove)
    const opened = await Promise.allSettled(Array.from({ length: 4 }, () => openStorage({ url })))
    const storages = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    expect(storages).toHaveLength(name === 'sqlite' ? 1 : 4)
    for (const one of opened) {
      if (one.status === 'rejected') {
        expect(one.reason).toBeInstanceOf(StorageUnavailableError)
        expect(one.reason).toMatchObject({ message: expect.stringContaining('in use by another') })
      }
    }
    for (const storage of storages) {
      expect(await appliedNames(storage)).toEqual(migrations.map((migration) => migration.name))
      await storage.close()
    }
  })
})

describe.each(backends.filter(({ name }) => name === 'postgres'))(
  'a PostgreSQL that is being started',
  ({ create }) => {
    /** Takes connections to the database, each after so long. */
    const slowly = async (target: string, delayMs: number, port = 0) => {
      const sockets = new Set<Socket>()
      const proxy = createServer((client) => {
        const late = setTimeout(() => {
          const { hostname, port: upstreamPort } = new URL(target)
          const upstream = connect(Number(upstreamPort), hostname)
          sockets.add(upstream.on('error', () => client.destroy()))
          client.pipe(upstream).pipe(client)
        }, delayMs)
        sockets.add(client.on('error', () => {}).on('close', () => clearTimeout(late)))
      })
      proxy.listen(port, '127.0.0.1')
      await once(proxy, 'listening')
      onTestFinished(() => {
        for (const socket of sockets) socket.destroy()
        proxy.close()
      })
      const url = new URL(target)
      const address = proxy.address()
      if (address !== null && typeof address === 'object') url.port = String(address.port)
      return url.href
    }

    const warnings: string[] = []
    const logger = {
      info: () => {},
      warn: (_: object, message: string) => warnings.push(message),
      error: () => {},
    }

    it('may take long for each connection', async () => {
      const { url, remove } = await create()
      onTestFinished(remove)
      const storage = await openStorage({ url: await slowly(url, 1_700) })
      expect(await appliedNames(storage)).toHaveLength(migrations.length)
      await storage.close()
    })

    it('is waited for, with one line in the log', async () => {
      const { url, remove } = await create()
      onTestFinished(remove)
      const port = await freePort()
      const late = new URL(url)
      late.port = String(port)
      const opening = openStorage({ url: late.href, wait: { ms: 30_000 }, logger })
      await expect.poll(() => warnings).toEqual(['waiting for the database'])
      await slowly(url, 0, port)
      const storage = await opening
      expect(await appliedNames(storage)).toHaveLength(migrations.length)
      expect(warnings).toHaveLength(1)
      await storage.close()
    })

    it('is given up in the end, and at once for what no wait mends', async () => {
      const { url, remove } = await create()
      onTestFinished(remove)
      const away = `postgres://127.0.0.1:${await freePort()}/iam`
      await expect(openStorage({ url: away, wait: { ms: 600 } })).rejects.toThrow(
        /^cannot use PostgreSQL at 127.*ECONNREFUSED.*\(waited 0.6 s\)$/,
      )
      const none = new URL(url)
      none.pathname = '/no-such-database'
      const begin = performance.now()
      await expect(openStorage({ url: none.href, wait: { ms: 30_000 } })).rejects.toThrow(
        /no-such-database/,
      )
      expect(performance.now() - begin).toBeLessThan(10_000)
    })
  },
)
