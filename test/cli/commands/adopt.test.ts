/** `iamctl adopt` with the built program and a real server: every case of test/cli/adopt at once, then one by one. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import { bytesOf, type Case, cases } from '../adopt/case.ts'
import { type Estate, newEstate, newRealm } from './fixture/estate.ts'
import { sharedWorld } from './fixture/fixture.ts'

const world = sharedWorld()

const put = (folder: string, file: string, text: string): void => {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

/** Where a file of a case lies in the estate of all. */
const pathIn = ({ name }: Case, file: string): string => {
  const [, overlay, rest] = /^(over\d)\/(.*)$/.exec(file) ?? []
  return overlay === undefined ? `realms/${name}-${file}` : `${overlay}/${name}-${rest}`
}

const secrets = Object.fromEntries(
  ['API_SECRET', 'SMTP_SECRET', 'HOOK_SECRET'].map((name) => [
    name,
    `${name}-that-is-at-least-32-characters-long`,
  ]),
)

const estateFile = 'source: estate\npaths: [realms]\noverlays: [over1, over2]\n'

const namesOf = ({ options }: Case): string[] =>
  [...options].filter((one) => one.startsWith('name:')).map((one) => one.slice('name:'.length))

describe('adopt', () => {
  it('writes every awkward file as the cases say, and then plans to no changes for it', async () => {
    const estate = newEstate(world(), { 'iamctl.yaml': estateFile }, secrets)
    const { folder, run } = estate
    put(folder, 'live/iamctl.yaml', 'source: estate\npaths: [.]\n')
    for (const one of cases) {
      put(folder, `live/${one.name}.yaml`, one.live)
      for (const [file, text] of one.files) put(folder, pathIn(one, file), bytesOf(one, file, text))
    }
    const applied = await run('apply live --auto-approve')
    expect(applied.stderr).not.toContain('failed')
    expect(applied).toMatchObject({ code: 0 })

    const trial = await run('adopt --dry-run -o json')
    expect(trial.stderr).toBe('')
    expect(trial.code).toBe(7)
    const adopted = await run('adopt')
    expect(adopted.code).toBe(7)
    const named = cases.flatMap(namesOf)
    expect((await run('adopt', ...named)).code).toBe(7)
    const replaced = cases.filter(({ options }) => options.has('replace-variables'))
    for (const one of replaced)
      for (const file of one.files.keys())
        expect(
          await run('adopt --replace-variables --quiet', '--path', pathIn(one, file)),
        ).toMatchObject({ code: 0, stdout: `${pathIn(one, file)}\n` })

    for (const one of cases)
      for (const [file, before] of one.files) {
        const wanted = bytesOf(one, file, one.after.get(file) ?? before)
        expect(readFileSync(join(folder, pathIn(one, file)), 'utf8'), one.name).toBe(wanted)
      }
    const shown = adopted.stderr + adopted.stdout + trial.stdout
    for (const secret of Object.values(secrets)) expect(shown).not.toContain(secret)

    const planned = await run('plan -o json')
    const { realms } = JSON.parse(planned.stdout)
    const left = realms.flatMap(
      ({ realm, changes }: { realm: string; changes: { kind: string; key: string }[] }) =>
        changes.map(({ kind, key }) => `${realm} ${kind}/${key}`),
    )
    const refused = cases.flatMap(({ name, refused: lines }) =>
      lines.map((line) => `${name} ${line.split(/[: ]/, 1)[0]}`),
    )
    expect(new Set(left)).toEqual(new Set(refused))
    // Seventy realms are made for it.
  }, 300_000)

  const drifted = async (text: (realm: string) => string): Promise<Estate & { realm: string }> => {
    const realm = newRealm()
    const estate = newEstate(world(), {
      'iamctl.yaml': 'source: shop\npaths: [realm.yaml]\n',
      'realm.yaml': text(realm),
    })
    expect((await estate.run('apply --auto-approve')).code).toBe(0)
    return { ...estate, realm }
  }
  const send = async (method: string, path: string, body: object): Promise<void> => {
    const { status } = await world().admin.send(method, `/admin/realms/${path}`, body)
    expect(status).toBeLessThan(300)
  }

  it('shows a diff that git applies, writes nothing for it, and keeps the mode of the file', async () => {
    const { realm, run, folder } = await drifted(
      (name) => `realm: ${name}\r\nroles:\r\n  - name: reader # reads\r\n    description: Old\r\n`,
    )
    await send('PUT', `${realm}/roles/reader`, { name: 'reader', description: 'New' })
    const before = readFileSync(join(folder, 'realm.yaml'))
    const trial = await run('adopt --dry-run')
    expect(trial).toMatchObject({ code: 0 })
    expect(trial.stderr).toBe('Would adopt role "reader".\n')
    expect(trial.stdout).toContain('-    description: Old\r\n+    description: New\r\n')
    expect(readFileSync(join(folder, 'realm.yaml'))).toEqual(before)
    const { mode } = statSync(join(folder, 'realm.yaml'))
    expect(await run('adopt')).toEqual({
      code: 0,
      stdout: 'realm.yaml\n',
      stderr: 'Adopted role "reader".\n',
    })
    const after = readFileSync(join(folder, 'realm.yaml'), 'utf8')
    expect(statSync(join(folder, 'realm.yaml')).mode).toBe(mode)
    writeFileSync(join(folder, 'realm.yaml'), before)
    await execa('git', ['init', '-q'], { cwd: folder })
    await execa('git', ['apply'], { cwd: folder, input: trial.stdout })
    expect(readFileSync(join(folder, 'realm.yaml'), 'utf8')).toBe(after)
    expect((await run('plan --detailed-exitcode')).code).toBe(0)
    expect((await run('adopt')).stderr).toBe('Nothing to adopt: the realm matches the files.\n')
  })

  it('takes in what was made by hand when it is named or asked for, with what it needs', async () => {
    const { realm, run, folder } = await drifted(
      (name) => `realm: ${name}\nroles:\n  - name: reader\nclients: []\n`,
    )
    await send('POST', `${realm}/roles`, { name: 'made', description: 'By hand' })
    await send('POST', `${realm}/groups`, { name: 'Staff' })
    await send('POST', `${realm}/clients`, { clientId: 'web', publicClient: true })
    await send('POST', `${realm}/clients/web/roles`, { name: 'editor' })
    const quiet = await run('adopt')
    expect(quiet).toMatchObject({ code: 0, stdout: '' })
    expect(quiet.stderr).toContain('role "made"')
    expect(await run('adopt role/made group/Staff')).toMatchObject({ code: 0 })
    expect(await run('adopt --unmanaged')).toMatchObject({ code: 0 })
    expect(readFileSync(join(folder, 'realm.yaml'), 'utf8')).toBe(
      `realm: ${realm}\nroles:\n  - name: reader\n  - name: made\n    description: By hand\n` +
        'groups:\n  - name: Staff\nclients:\n' +
        '  - clientId: web\n    publicClient: true\n    roles:\n      - name: editor\n',
    )
    expect((await run('plan --detailed-exitcode')).code).toBe(0)
    expect((await run('apply --auto-approve')).code).toBe(0)
    expect((await run('plan --detailed-exitcode')).stdout).toContain('No changes.')
  })

  it('refuses names of nothing, files that would become invalid, and what would lose something else', async () => {
    const { realm, run, folder, write } = await drifted(
      (name) => `realm: ${name}\nroles:\n  - name: reader\ngroups:\n  - name: A\n  - name: B\n`,
    )
    expect(await run('adopt role/nobody')).toMatchObject({ code: 3 })
    expect(await run('adopt realm.yaml')).toMatchObject({ code: 1 })
    await send('POST', `${realm}/roles`, { name: 'base' })
    await send('POST', `${realm}/roles`, { name: 'top', composites: ['base'] })
    const invalid = await run('adopt role/top')
    expect(invalid).toMatchObject({ code: 3 })
    expect(invalid.stderr).toContain('missing-reference')
    write({ 'realm.yaml': `realm: ${realm}\nroles:\n  - name: reader\n` })
    const lost = await run('adopt group/A')
    expect(lost).toMatchObject({ code: 7 })
    expect(lost.stderr).toContain('the next apply would delete group "/B"')
    expect(readFileSync(join(folder, 'realm.yaml'), 'utf8')).toBe(
      `realm: ${realm}\nroles:\n  - name: reader\n`,
    )
    expect(await run('adopt group/A group/B')).toMatchObject({ code: 0 })
    expect((await run('plan --detailed-exitcode')).code).toBe(0)
  })

  it('names the line of a value that a variable gives, and tells programs all of it as JSON', async () => {
    const { realm, run } = await drifted(
      (name) => `realm: ${name}\nsettings:\n  displayName: \${var:TITLE:-Shop}\n`,
    )
    await send('PATCH', `${realm}/settings`, { displayName: 'Store' }).catch(() =>
      send('PUT', `${realm}/settings`, { displayName: 'Store' }),
    )
    const human = await run('adopt')
    expect(human).toMatchObject({ code: 7, stdout: '' })
    expect(human.stderr).toContain('realm.yaml:3:16: not adopted: settings, displayName')
    expect(human.stderr).toContain('--replace-variables')
    const { stdout } = await run('adopt -o json')
    expect(JSON.parse(stdout)).toMatchObject({
      adopted: [],
      files: [],
      refused: [{ realm, kind: 'settings', field: 'displayName', place: { line: 3, column: 16 } }],
    })
  })
})
