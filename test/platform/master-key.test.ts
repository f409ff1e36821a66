import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addMasterKey, dropOldMasterKeys, loadMasterKey } from '#server/platform/master-key.ts'
import { keyringFrom, MasterKeyError, SealError } from '#server/platform/sealing.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'iamctl-keys-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})
const mode = (path: string): number => statSync(path).mode & 0o777

describe('loading the master key', () => {
  it('makes a file for its owner alone on first use, and uses it ever after', () => {
    const dataDir = join(folder, 'data', 'deep')
    const sealed = loadMasterKey({ dataDir }).seal('hunter2', 'here')
    expect(mode(join(dataDir, 'master.key'))).toBe(0o600)
    expect(mode(dataDir)).toBe(0o700)
    expect(readdirSync(dataDir)).toEqual(['master.key'])
    expect(loadMasterKey({ dataDir }).open(sealed, 'here')).toBe('hunter2')
  })

  it('prefers the key itself to a file, and a file to the data folder', () => {
    const [one, two] = [randomBytes(32), randomBytes(32)]
    const keyFile = join(folder, 'key')
    writeFileSync(keyFile, two.toString('hex'), { mode: 0o600 })
    const dataDir = join(folder, 'data')
    const all = { key: one.toString('base64'), keyFile, dataDir }
    expect(loadMasterKey(all).activeKid).toBe(keyringFrom([one]).activeKid)
    expect(loadMasterKey({ keyFile, dataDir }).activeKid).toBe(keyringFrom([two]).activeKid)
    expect(existsSync(dataDir)).toBe(false)
  })

  it('gives the same key to processes that start together', async () => {
    const script = `
      const { loadMasterKey } = await import('#server/platform/master-key.ts')
      process.stdout.write(loadMasterKey({ dataDir: process.argv[1] }).activeKid)`
    const start = () => promisify(execFile)(process.execPath, ['-e', script, join(folder, 'data')])
    const runs = await Promise.all([start(), start(), start(), start()])
    const kids = new Set(runs.map((run) => run.stdout))
    expect(kids).toEqual(new Set([loadMasterKey({ dataDir: join(folder, 'data') }).activeKid]))
    expect(readdirSync(join(folder, 'data'))).toEqual(['master.key'])
  })

  it.each([0o640, 0o604, 0o644, 0o660])('refuses a file of mode %o and says chmod 600', (bits) => {
    loadMasterKey({ dataDir: folder })
    chmodSync(join(folder, 'master.key'), bits)
    expect(() => loadMasterKey({ dataDir: folder })).toThrow(
      `chmod 600 ${join(folder, 'master.key')}`,
    )
  })

  it('refuses an empty key rather than falling back to another source', () => {
    expect(() => loadMasterKey({ key: '', dataDir: folder })).toThrow(MasterKeyError)
    expect(readdirSync(folder)).toEqual([])
  })

  it('refuses a missing key file rather than making one', () => {
    const keyFile = join(folder, 'absent')
    expect(() => loadMasterKey({ keyFile, dataDir: folder })).toThrow(MasterKeyError)
    expect(readdirSync(folder)).toEqual([])
  })

  it('refuses a folder in place of a key file, and no source at all', () => {
    chmodSync(folder, 0o700)
    expect(() => loadMasterKey({ keyFile: folder })).toThrow('no plain file')
    expect(() => loadMasterKey({})).toThrow(MasterKeyError)
  })
})

describe('rotating the master key', () => {
  it('keeps old values readable after the first step, and only new ones after the second', () => {
    const old = loadMasterKey({ dataDir: folder }).seal('hunter2', 'here')
    const added = addMasterKey(folder)
    expect(added.isCurrent(old)).toBe(false)
    const anew = added.seal(added.open(old, 'here'), 'here')
    const dropped = dropOldMasterKeys(folder)
    expect(dropped.activeKid).toBe(added.activeKid)
    expect(dropped.open(anew, 'here')).toBe('hunter2')
    expect(() => loadMasterKey({ dataDir: folder }).open(old, 'here')).toThrow(SealError)
    expect(mode(join(folder, 'master.key'))).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['master.key'])
  })

  it('reaches a process that has the file open already', () => {
    const running = loadMasterKey({ dataDir: folder })
    const before = running.activeKid
    const sealed = addMasterKey(folder).seal('hunter2', 'here')
    expect(running.open(sealed, 'here')).toBe('hunter2')
    expect(running.activeKid).not.toBe(before)
    expect(running.seal('x', 'here').kid).toBe(sealed.kid)
  })

  it('lets a running process read on, but not seal, when the file is gone', () => {
    const running = loadMasterKey({ dataDir: folder })
    const sealed = running.seal('hunter2', 'here')
    rmSync(join(folder, 'master.key'))
    expect(running.open(sealed, 'here')).toBe('hunter2')
    expect(() => running.seal('x', 'here')).toThrow(MasterKeyError)
  })

  it('is refused while another one is under way, and the keys stay as they are', () => {
    const sealed = loadMasterKey({ dataDir: folder }).seal('hunter2', 'here')
    const before = readFileSync(join(folder, 'master.key'), 'utf8')
    const lock = join(folder, 'master.key.lock')
    writeFileSync(lock, 'half a ke', { mode: 0o600 })
    expect(() => addMasterKey(folder)).toThrow(`remove ${lock}`)
    expect(() => dropOldMasterKeys(folder)).toThrow(MasterKeyError)
    expect(readFileSync(join(folder, 'master.key'), 'utf8')).toBe(before)
    expect(loadMasterKey({ dataDir: folder }).open(sealed, 'here')).toBe('hunter2')
    rmSync(lock)
    expect(addMasterKey(folder).open(sealed, 'here')).toBe('hunter2')
  })

  it('leaves no lock behind when the present keys cannot be read', () => {
    writeFileSync(join(folder, 'master.key'), 'nonsense', { mode: 0o600 })
    expect(() => addMasterKey(folder)).toThrow(MasterKeyError)
    expect(readdirSync(folder)).toEqual(['master.key'])
  })

  it('needs a key to start from', () => {
    expect(() => addMasterKey(join(folder, 'absent'))).toThrow('does not exist')
  })
})
