import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { describe, expect, inject, it } from 'vitest'
import { createDatabase, dropDatabase, startPostgres } from '../../support/processes/postgres.ts'

const connects = async (url: string): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

const untilRefused = async (url: string): Promise<void> => {
  while (await connects(url)) await new Promise((resolve) => setTimeout(resolve, 50))
}

describe('the PostgreSQL of the test run', () => {
  it('makes a database of its own for whoever asks, and removes it again', async () => {
    const admin = inject('postgresUrl')
    const name = `Odd "name" ${process.pid}`
    const url = await createDatabase(admin, name)
    expect(await connects(url)).toBe(true)
    await dropDatabase(admin, name)
    expect(await connects(url)).toBe(false)
  })

  it('stops when it is told to', async () => {
    const { url, stop } = await startPostgres()
    expect(await connects(url)).toBe(true)
    await stop()
    expect(await connects(url)).toBe(false)
  })

  it('does not outlive a process that is killed', async () => {
    const module = fileURLToPath(new URL('../../support/processes/postgres.ts', import.meta.url))
    const script = `
      const { startPostgres } = await import(${JSON.stringify(module)})
      process.stdout.write((await startPostgres()).url + '\\n')
      setInterval(() => {}, 1000)`
    const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [url] = await once(createInterface({ input: owner.stdout }), 'line')
    expect(await connects(url)).toBe(true)
    owner.kill('SIGKILL')
    await untilRefused(url)
  })
})
