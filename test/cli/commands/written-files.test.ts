/** Files that `plan --out` and `export --out` write: where they are named, and over nothing that is not theirs. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from './fixture/estate.ts'
import { sharedWorld } from './fixture/fixture.ts'

const world = sharedWorld()

const setUp = async () => {
  const realm = newRealm()
  const text = `realm: ${realm}\nroles: [{ name: a }]\n`
  const estate = newEstate(world(), { 'realm.yaml': text })
  const applied = await estate.run('apply realm.yaml --auto-approve')
  expect(applied.code, applied.stderr).toBe(0)
  return { realm, text, ...estate, path: (name: string) => join(estate.folder, name) }
}

describe('plan --out', () => {
  it('leaves a file alone that is no saved plan, and plans nothing', async () => {
    const { run, path, text } = await setUp()
    const { code, stdout, stderr } = await run('plan realm.yaml --out realm.yaml')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('--out realm.yaml exists and is not a saved plan')
    expect(readFileSync(path('realm.yaml'), 'utf8')).toBe(text)
    expect((await run('plan realm.yaml --out -')).code).toBe(1)
    for (const [out, problem] of [
      ['.', 'is a folder'],
      ['nowhere/change.plan', 'lies in a folder that does not exist'],
    ]) {
      const refused = await run(`plan realm.yaml --out ${out}`)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toContain(`--out ${out} ${problem}`)
    }
    expect(existsSync(path('-'))).toBe(false)
  })

  it('replaces an earlier plan or an empty file, which only the owner may read afterwards', async () => {
    const { run, path } = await setUp()
    writeFileSync(path('change.plan'), '')
    for (const _ of ['empty', 'earlier']) {
      chmodSync(path('change.plan'), 0o644)
      const { code, stderr } = await run('plan realm.yaml --out change.plan')
      expect(code, stderr).toBe(0)
      expect(statSync(path('change.plan')).mode & 0o777).toBe(0o600)
    }
  })
})

describe('export --out', () => {
  it('writes the file that is named .yaml or .json, and below a folder else', async () => {
    const { run, path, realm } = await setUp()
    for (const [flags, file] of [
      ['--out shop.yaml', 'shop.yaml'],
      ['--out made/shop.yml', 'made/shop.yml'],
      ['-o json --out shop.json', 'shop.json'],
      ['--out made', `made/${realm}.yaml`],
    ] as const) {
      const { code, stderr } = await run(`export --realm ${realm} ${flags}`)
      expect(code, stderr).toBe(0)
      expect(stderr).toContain(`${file}\n`)
      expect(statSync(path(file)).isFile()).toBe(true)
    }
    const planned = await run('plan shop.yaml --detailed-exitcode --source default')
    expect(planned.code, planned.stderr).toBe(0)
  })

  it('prints for "-", and writes no file of that name', async () => {
    const { run, path, realm } = await setUp()
    const printed = await run(`export --realm ${realm}`)
    const dashed = await run(`export --realm ${realm} --out -`)
    expect(dashed).toEqual(printed)
    expect(dashed.stdout).toContain('roles:')
    expect((await run(`export --realm ${realm} --out - --split`)).code).toBe(1)
    for (const command of ['apply realm.yaml --secrets-out -', 'server backup -']) {
      const refused = await run(command)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(/name a file/)
    }
    expect(existsSync(path('-'))).toBe(false)
  })

  it('refuses what it cannot mean, and a file that exists', async () => {
    const { run, path, realm, text } = await setUp()
    for (const [flags, reason] of [
      ['--split --out shop.yaml', '--split writes several files'],
      ['--out shop.json', 'give -o json'],
      ['--out realm.yaml', 'give --overwrite'],
    ] as const) {
      const { code, stderr } = await run(`export --realm ${realm} ${flags}`)
      expect(code).toBe(1)
      expect(stderr).toContain(reason)
    }
    expect(readFileSync(path('realm.yaml'), 'utf8')).toBe(text)
  })

  it('writes all files or none, and those that are replaced keep their mode', async () => {
    const { run, path, realm } = await setUp()
    writeFileSync(path('more.yaml'), `realm: ${realm}\ngroups: [{ name: Staff }]\n`)
    expect((await run('apply more.yaml --auto-approve')).code).toBe(0)
    const folder = `made/${realm}`
    const roles = path(`${folder}/roles.yaml`)
    mkdirSync(path(folder), { recursive: true })
    writeFileSync(roles, 'mine')
    chmodSync(roles, 0o640)
    const refused = await run(`export --realm ${realm} --split --out made`)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('roles.yaml exists')
    expect(readdirSync(path(folder))).toEqual(['roles.yaml'])
    const replaced = await run(`export --realm ${realm} --split --out made --overwrite`)
    expect(replaced.code, replaced.stderr).toBe(0)
    expect(readdirSync(path(folder)).sort()).toEqual(['groups.yaml', 'roles.yaml'])
    expect(readFileSync(roles, 'utf8')).toContain('- name: a')
    expect(statSync(roles).mode & 0o777).toBe(0o640)
  })
})

describe('a file that a command reads', () => {
  it('is named, with the reason, where it is a folder or missing', async () => {
    const { run } = newEstate(world(), { 'realm.yaml': 'realm: a\n' })
    for (const command of [
      'apply --plan FILE',
      'import FILE --realm a',
      'import saml-metadata FILE --realm a',
      'whoami --password-file FILE',
    ])
      for (const [file, reason] of [
        ['.', 'is a folder'],
        ['missing', 'does not exist'],
      ] as const) {
        const { code, stderr } = await run(command.replace('FILE', file))
        expect(code, stderr).toBe(1)
        expect(stderr).toContain(`iamctl: ${file} ${reason}\n`)
      }
    const { code, stderr } = await run('apply --plan realm.yaml')
    expect(code, stderr).toBe(3)
    expect(stderr).toContain('iamctl: realm.yaml is no saved plan')
  })
})
