/** Spooled data is read back unchanged, within its limit, and leaves no file in the folder. */

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { spool } from '#server/platform/spool.ts'

describe('a spooled body', () => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-spool-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /** Looks into the folder while it is being written. */
  async function* body(chunks: number, size: number): AsyncGenerator<Buffer> {
    for (let i = 0; i < chunks; i += 1) {
      expect(readdirSync(folder)).toEqual([])
      yield Buffer.alloc(size, i)
    }
  }

  it('comes back as often as it is asked for, with its size and digest', async () => {
    const expected = Buffer.concat(Array.from({ length: 9 }, (_, i) => Buffer.alloc(100_000, i)))
    const spooled = await spool(body(9, 100_000), { limit: 900_000, folder })
    expect(spooled.size).toBe(900_000)
    expect(spooled.sha256).toBe(createHash('sha256').update(expected).digest('hex'))
    for (let round = 0; round < 2; round += 1) {
      const chunks: Buffer[] = []
      for await (const chunk of spooled.chunks()) chunks.push(chunk)
      expect(Buffer.concat(chunks).equals(expected)).toBe(true)
    }
    expect(readdirSync(folder)).toEqual([])
    await spooled.close()
    expect(readdirSync(folder)).toEqual([])
  })

  it('is refused one byte above the limit, and when its source breaks off', async () => {
    await expect(spool(body(9, 100_000), { limit: 899_999, folder })).rejects.toMatchObject({
      code: 'too-large',
      status: 413,
    })
    const broken = async function* () {
      yield Buffer.from('x')
      throw new Error('gone')
    }
    await expect(spool(broken(), { limit: 10, folder })).rejects.toThrow('gone')
    expect(readdirSync(folder)).toEqual([])
  })

  it('may be empty', async () => {
    const spooled = await spool(body(0, 0), { limit: 1, folder })
    expect(spooled.size).toBe(0)
    for await (const chunk of spooled.chunks()) expect.unreachable(String(chunk))
    await spooled.close()
  })
})
