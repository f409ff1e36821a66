/** Behaviour of SQLite alone: files, a lock between processes, a writer thread. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OutcomeUnknownError, StorageUnavailableError } from '#server/storage/contract.ts'
import { openStorage } from '#server/storage/open.ts'
import { SqliteWriter } from '#server/storage/sqlite/writer.ts'
import { backends, type TestDatabase } from '../../support/backends.ts'
import { insertMeta, metaNames } from './rows.ts'

const sqlite = backends.find(({ name }) => name === 'sqlite')

const openInChild = async (url: string): Promise<{ child: ChildProcess; said: string }> => {
  const script = fileURLToPath(new URL('./hold-open.ts', import.meta.url))
  const child = spawn(process.execPath, [script, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  })
  const [said] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, said: String(said) }
}

describe.runIf(sqlite !== undefined)('a SQLite database', () => {
  let empty: TestDatabase
  let file: string

  beforeEach(async () => {
    if (sqlite === undefined) throw new Error('SQLite is not among the backends')
    empty = await sqlite.create()
    file = empty.url.slice('sqlite:'.length)
  })
  afterEach(() => empty.remove())

  it('and the folder made for it are for their owner alone', async () => {
    const nested = join(dirname(file), 'new', 'folder', 'iamctl.db')
    const storage = await openStorage({ url: `sqlite:${nested}` })
    await storage.commit([insertMeta(storage.db, 'a', 'b')])
    for (const suffix of ['', '-wal', '-shm', '.lock']) {
      expect((await stat(nested + suffix)).mode & 0o777, suffix).toBe(0o600)
    }
    expect((await stat(dirname(nested))).mode & 0o777).toBe(0o700)
    await storage.close()
  })

  it('is durable at every commit, overwrites what is deleted and keeps foreign keys', async () => {
    const storage = await openStorage({ url: empty.url })
    const results = await storage.commit(
      ['journal_mode', 'synchronous', 'secure_delete', 'foreign_keys'].map((pragma) => ({
        sql: `pragma ${pragma}`,
        parameters: [],
      })),
    )
    const values = results.map(({ rows }) => Object.values(rows[0] ?? {})[0])
    const full = 2
    expect(values).toEqual(['wal', full, 1, 1])
    await storage.close()
  })

  it('is one complete file after closing', async () => {
    const storage = await openStorage({ url: empty.url })
    await storage.commit([insertMeta(storage.db, 'a', 'b')])
    await storage.close()
    await expect(stat(`${file}-wal`)).rejects.toThrow('ENOENT')
    const plain = new DatabaseSync(file, { readOnly: true })
    expect(plain.prepare('select name from meta').all()).toHaveLength(1)
    plain.close()
  })

  it('in use is refused to another process, under any name of the file', async () => {
    const storage = await openStorage({ url: empty.url })
    const alias = join(dirname(file), 'alias.db')
    await symlink(file, alias)
    for (const url of [empty.url, `sqlite:${alias}`]) {
      const { child, said } = await openInChild(url)
      expect(said).toBe(
        `StorageUnavailableError: the database ${file} is in use by another iamctl server`,
      )
      if (child.exitCode === null) await once(child, 'exit')
      expect(child.exitCode).toBe(1)
    }
    await storage.commit([insertMeta(storage.db, 'still', 'ours')])
    await storage.close()
  })

  it('in use is refused to a second opener in the same process, and stays locked', async () => {
    const storage = await openStorage({ url: empty.url })
    await expect(openStorage({ url: empty.url })).rejects.toThrow('in use by another iamctl server')
    const { said } = await openInChild(empty.url)
    expect(said).toContain('in use by another iamctl server')
    await storage.close()
  })

  it('is free again when the process that held it was killed', async () => {
    const { child, said } = await openInChild(empty.url)
    expect(said).toBe('opened')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const storage = await openStorage({ url: empty.url })
    await storage.commit([insertMeta(storage.db, 'a', 'b')])
    expect(await metaNames(storage.db)).toEqual(['a'])
    await storage.close()
  })

  it('whose writer thread dies settles every write instead of waiting', async () => {
    let death: Error | undefined
    const writer = await SqliteWriter.start({
      file,
      entry: new URL('./dying-writer.ts', import.meta.url),
      onDeath: (error) => {
        death = error
      },
    })
    const statements = [{ sql: 'select 1', parameters: [] }]
    const sent = await writer.submit(statements, 'commit').catch((error: unknown) => error)
    expect(sent).toBeInstanceOf(OutcomeUnknownError)
    expect(writer.alive).toBe(false)
    expect(death).toBeInstanceOf(StorageUnavailableError)
    await expect(writer.submit(statements, 'commit')).rejects.toBeInstanceOf(
      StorageUnavailableError,
    )
    await writer.drain()
    await writer.close()
  })

  it('has another mark from the moment that a write is asked for, and again when it is done', async () => {
    const storage = await openStorage({ url: empty.url })
    const marks = [storage.mark()]
    const writing = storage.commit([insertMeta(storage.db, 'a', 'b')])
    marks.push(storage.mark())
    await writing
    marks.push(storage.mark())
    expect(new Set(marks).size).toBe(3)
    expect(storage.mark()).toBe(marks.at(-1))
    await storage.close()
  })

  it('plans a query once: what it is limited to is written into its text', async () => {
    const storage = await openStorage({ url: empty.url })
    const { sql, parameters } = storage.db
      .selectFrom('meta')
      .selectAll()
      .limit(7)
      .offset(3)
      .compile()
    expect(sql).toBe('select * from "meta" limit 7 offset 3')
    expect(parameters).toEqual([])
    await storage.close()
  })

  it('that the writer thread cannot open is refused', async () => {
    const start = SqliteWriter.start({ file: join(file, 'nowhere', 'x.db') })
    await expect(start).rejects.toThrow(/^cannot open the database .*unable to open/)
  })
})
