/** The data folder and the port of `iamctl dev`. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openKeptFolder, openTemporaryFolder } from '#cli/dev/server/data-folder.ts'
import { choosePort } from '#cli/dev/server/port.ts'

const emptyFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-data-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const takenPort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    onTestFinished(() => void server.close())
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })

describe('a temporary folder', () => {
  it('is for its owner alone and goes when it is closed', () => {
    const data = openTemporaryFolder()
    expect(statSync(data.path).mode & 0o077).toBe(0)
    expect(statSync(data.adminPasswordFile).mode & 0o777).toBe(0o600)
    expect(readFileSync(data.adminPasswordFile, 'utf8').trim()).toBe(data.adminPassword)
    data.close()
    expect(existsSync(data.path)).toBe(false)
  })
})

describe('a folder that is kept', () => {
  it('keeps the password of the administrator, and Git does not see it', () => {
    const estate = emptyFolder()
    const first = openKeptFolder(estate, false)
    first.close()
    expect(readFileSync(join(first.path, '.gitignore'), 'utf8')).toMatch(/^\*$/m)
    expect(statSync(first.path).mode & 0o077).toBe(0)
    const second = openKeptFolder(estate, false)
    expect(second.adminPassword).toBe(first.adminPassword)
  })

  it('is emptied first where that is asked for', () => {
    const estate = emptyFolder()
    const first = openKeptFolder(estate, false)
    writeFileSync(join(first.path, 'iamctl.db'), 'x')
    first.close()
    const second = openKeptFolder(estate, true)
    expect(existsSync(join(second.path, 'iamctl.db'))).toBe(false)
    expect(second.adminPassword).not.toBe(first.adminPassword)
  })

  it('is refused while another process uses it, and taken over from one that is gone', () => {
    const estate = emptyFolder()
    const { path } = openKeptFolder(estate, false)
    writeFileSync(join(path, 'dev.lock'), String(process.ppid))
    expect(() => openKeptFolder(estate, true)).toThrow(`in use by process ${process.ppid}`)
    expect(existsSync(join(path, 'admin-password'))).toBe(true)
    writeFileSync(join(path, 'dev.lock'), '999999999')
    openKeptFolder(estate, false)
  })

  it('is left alone where it is somebody else’s', () => {
    const estate = emptyFolder()
    const path = join(estate, '.iamctl-dev')
    mkdirSync(path)
    writeFileSync(join(path, 'precious'), 'x')
    expect(() => openKeptFolder(estate, true)).toThrow('was not created by iamctl dev')
    expect(existsSync(join(path, 'precious'))).toBe(true)
  })
})

describe('the port', () => {
  it('that was asked for is the one, or it is an error', async () => {
    const taken = await takenPort()
    await expect(choosePort(taken)).rejects.toThrow(`port ${taken} on 127.0.0.1`)
    expect((await choosePort(0)).port).toBeGreaterThan(1023)
  })

  it('is another one where the usual is taken and nobody asked for it', async () => {
    const { port, instead } = await choosePort(undefined)
    expect(instead).toBe(port === 8080 ? null : 8080)
  })
})
