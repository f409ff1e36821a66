/** Files that commands write: an error names the file that was asked for, and not the draft beside it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { unwritable } from '#cli/named-file.ts'
import { writeHere } from '#cli/write-below.ts'

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-write-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('a file that cannot be written', () => {
  it.each([
    ['nowhere/x.yaml', 'its folder does not exist'],
    ['file/x.yaml', 'a part of the path is a file'],
  ])('%s is named: %s', async (name, reason) => {
    const folder = newFolder()
    writeFileSync(join(folder, 'file'), '')
    const file = join(folder, name)
    await expect(writeHere(file, 'new', { overwrite: true })).rejects.toMatchObject({
      exitCode: 1,
      message: `${file} cannot be written: ${reason}`,
    })
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('is named where the folder or the disk takes no more', () => {
    for (const [code, reason] of [
      ['EACCES', 'you may not write in its folder'],
      ['EROFS', 'the file system is read-only'],
      ['ENOSPC', 'the disk is full'],
      ['EIO', 'EIO: i/o error, write'],
    ] as const) {
      const error = Object.assign(new Error('EIO: i/o error, write'), { code, syscall: 'write' })
      expect(unwritable('x.yaml', error)).toMatchObject({
        message: `x.yaml cannot be written: ${reason}`,
      })
    }
  })

  it('is no file that appeared meanwhile: it stays', async () => {
    const file = join(newFolder(), 'x.yaml')
    const writes = ['one', 'two'].map((text) => writeHere(file, text, { overwrite: false }))
    const [one, two] = await Promise.allSettled(writes)
    expect([one?.status, two?.status].sort()).toEqual(['fulfilled', 'rejected'])
    expect(readFileSync(file, 'utf8')).toBe(one?.status === 'fulfilled' ? 'one' : 'two')
  })
})
