/** The server of `iamctl dev`: it is ready when it says so itself, not when something answers at its port. */

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startServerChild } from '#cli/dev/server/server-child.ts'

describe('the server of iamctl dev', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'iamctl-child-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const start = (program: string, port: number) => {
    const entry = join(folder, 'entry.mjs')
    writeFileSync(entry, program)
    const adminPasswordFile = join(folder, 'password')
    const env = { PATH: process.env['PATH'] }
    return startServerChild({
      entry,
      hostname: '127.0.0.1',
      port,
      data: folder,
      adminPasswordFile,
      env,
      onLog: () => {},
    })
  }

  it('is not ready because another server has its port and answers', async () => {
    const asked: string[] = []
    const other = createServer(({ url = '' }, response) => {
      asked.push(url)
      response.end('{}')
    }).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const child = start(
      `setTimeout(() => { console.error('the port is taken'); process.exit(1) }, 300)`,
      port,
    )
    expect(await child.ready()).toBe(false)
    expect(await child.ended).toEqual({ how: 'exit code 1', lastLines: ['the port is taken'] })
    expect(asked).toEqual([])
    other.close()
  })

  it('is ready when it says so', async () => {
    const child = start(
      `console.error('iamctl 1.2.3 is ready at http://127.0.0.1:1 (SQLite)'); setInterval(() => {}, 1000)`,
      1,
    )
    expect(await child.ready()).toBe(true)
    child.kill()
    expect((await child.ended).how).toBe('SIGKILL')
  })
})
