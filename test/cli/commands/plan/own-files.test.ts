/**
 * Files that iamctl writes itself (saved plans, plans as JSON, generated secrets) are not read as realm files under any
 * name.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'

const world = sharedWorld()

const readers = ['validate', 'plan', 'apply --auto-approve', 'drift', 'fmt --check', 'adopt']

/** An estate that is applied, and a folder `overlays/prod` that may hold more. */
const setUp = async (names: readonly string[]) => {
  const realm = newRealm()
  const estate = newEstate(world(), {
    'iamctl.yaml': 'source: own-files\npaths: [.]\noverlays: [overlays/prod]\n',
    'realm.yaml': `realm: ${realm}\nclients:\n  - clientId: web\n    redirectUris: [https://web.example/cb]\n`,
  })
  mkdirSync(join(estate.folder, 'overlays/prod'), { recursive: true })
  const saved = await estate.run('plan --out p.json')
  expect(saved.code, saved.stderr).toBe(0)
  const json = await estate.run('plan -o json p.json realm.yaml')
  expect(json.code, json.stderr).toBe(0)
  const applied = await estate.run('apply --auto-approve --secrets-out s.json')
  expect(applied.code, applied.stderr).toBe(0)
  const paths = { saved: 'p.json', secrets: 's.json', json: 'o.json' }
  estate.write({ [paths.json]: json.stdout })
  for (const [i, name] of names.entries())
    renameSync(join(estate.folder, Object.values(paths)[i] ?? ''), join(estate.folder, name))
  return { realm, ...estate }
}

describe('files of iamctl itself in the folder of an estate', () => {
  it.each([
    { names: ['p.json', 's.json', 'o.json'] },
    { names: ['a-first.yaml', 'a-second.yml', 'a-third.yaml'] },
    { names: ['overlays/prod/p.json', 'overlays/prod/s.yaml', 'overlays/prod/o.yml'] },
  ])('are skipped by every command: $names', async ({ names }) => {
    const { run } = await setUp(names)
    for (const command of readers) {
      const { code, stdout, stderr } = await run(command)
      expect(code, `${command}\n${stdout}${stderr}`).toBe(0)
    }
  })

  it('are skipped whatever version wrote them, and when they were edited', async () => {
    const { run, write, folder } = await setUp([])
    const plan = JSON.parse(readFileSync(join(folder, 'p.json'), 'utf8'))
    write({
      'newer.json': JSON.stringify({ ...plan, formatVersion: 2, more: {} }),
      'edited.json': JSON.stringify({ ...plan, digest: 'x' }, null, 4),
    })
    const { code, stdout, stderr } = await run('validate')
    expect(code, stdout + stderr).toBe(0)
  })

  it('are refused with the right command where nothing else is named', async () => {
    const { run } = await setUp([])
    const { code, stdout, stderr } = await run('apply --auto-approve p.json')
    expect(code).toBe(3)
    expect(stdout + stderr).toContain('p.json is a saved plan')
    expect(stdout + stderr).toContain('iamctl apply --plan p.json')
    const secrets = await run('validate s.json')
    expect(secrets.code).toBe(3)
    expect(secrets.stdout + secrets.stderr).toContain('s.json holds generated secrets')
  })

  it('are not a way to hide a realm: a file that names one is read', async () => {
    const { run, folder, realm } = await setUp([])
    const plan = { formatVersion: 1, createdAt: 'x', server: 'x', realms: [], digest: 'x' }
    writeFileSync(join(folder, 'hidden.json'), JSON.stringify({ ...plan, realm }))
    const { code, stdout, stderr } = await run('validate')
    expect(code, stdout + stderr).toBe(3)
  })
})
