/**
 * A body that may be too large for memory waits in a file until it is complete. The file loses its name as soon as
 * it is open, so that nothing is left of it, whatever becomes of the process: it may hold secrets.
 */

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Problem } from '#schemas/problems.ts'

export interface Spool {
  readonly size: number
  /** Of all its bytes, in hexadecimal. */
  readonly sha256: string
  chunks(): AsyncIterable<Buffer>
  close(): Promise<void>
}

const chunkSize = 256 * 1024

const tooLarge = (limit: number): Problem =>
  new Problem('too-large', `The body is larger than ${limit} bytes.`)

async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafeSlow(chunkSize),
      0,
      chunkSize,
      position,
    )
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Takes everything in, or throws and leaves nothing behind. */
export const spool = async (
  source: AsyncIterable<Buffer>,
  { limit, folder = tmpdir() }: { readonly limit: number; readonly folder?: string },
): Promise<Spool> => {
  const path = join(folder, `iamctl-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  const close = async (): Promise<void> => {
    await handle.close()
    // Where an open file keeps its name.
    await rm(path, { force: true })
  }
  try {
    await rm(path).catch(() => undefined)
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of source) {
      size += chunk.length
      if (size > limit) throw tooLarge(limit)
      hash.update(chunk)
      await handle.appendFile(chunk)
    }
    return { size, sha256: hash.digest('hex'), chunks: () => chunksOf(handle), close }
  } catch (error) {
    await close()
    throw error
  }
}
