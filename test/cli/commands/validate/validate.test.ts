/** `iamctl validate` and `iamctl fmt` as processes: what is written where, and how they end. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bundle, type Home, newHome } from '../../../support/processes/cli.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'

const folderWith = (files: Readonly<Record<string, string>>): Home => {
  const home = newHome()
  onTestFinished(home.remove)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home.folder, name)), { recursive: true })
    writeFileSync(join(home.folder, name), text)
  }
  return home
}

const broken =
  'realm: acme\nroles:\n  - name: support\ngroups:\n  - name: Staff\n    roles: [suport]\n'
const unwise = 'realm: acme\nsettings:\n  bruteForceProtected: false\n'
const fine = 'realm: acme\nsettings:\n  displayName: Acme\n'

describe('iamctl validate', () => {
  it('ends with 0 and one line where all is well', async () => {
    const { code, stdout, stderr } = await folderWith({ 'realms/a.yaml': fine }).run(['validate'])
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'Valid: acme (1 file)\n',
      stderr: '',
    })
  })

  it('warns about files without a realm', async () => {
    const home = folderWith({ 'realms/a.yaml': '# nothing yet\n' })
    const { code, stdout } = await home.run(['validate'])
    expect(code).toBe(0)
    expect(stdout).toContain('warning file-without-realm: the files contain no realm')
    expect((await home.run(['validate', '--warnings-as-errors'])).code).toBe(3)
  })

  it('shows a name of a million characters in part', async () => {
    const text = `realm: acme\nroles:\n  - name: ${'x'.repeat(1_000_000)}\n`
    const home = folderWith({ 'realms/a.yaml': text })
    const { code, stdout } = await home.run(['validate'])
    expect(code).toBe(3)
    expect(stdout).toMatch(/error maxLength: role "x{119}…", name: must not have more than/)
    expect(stdout.length).toBeLessThan(1_000)
  })

  it('ends with 3 and shows place, code, lines and hint', async () => {
    const { code, stdout, stderr } = await folderWith({ 'realms/a.yaml': broken }).run(['validate'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(stdout).toBe(
      [
        'realms/a.yaml:6:13: error missing-reference: group "/Staff", roles[0]: there is no role "suport"',
        '  4 | groups:',
        '  5 |   - name: Staff',
        '> 6 |     roles: [suport]',
        '    |             ^^^^^^',
        '  hint: did you mean "support"?',
        '',
        '1 error in 1 file',
        '',
      ].join('\n'),
    )
  })

  it('ends with 0 on warnings, with 3 if they count as errors, and leaves out what is ignored', async () => {
    const home = folderWith({ 'realms/a.yaml': unwise })
    const first = await home.run(['validate'])
    expect(first.code).toBe(0)
    expect(first.stdout).toContain('warning no-brute-force-protection')
    expect((await home.run(['validate', '--warnings-as-errors'])).code).toBe(3)
    const ignored = ['--ignore', 'no-brute-force-protection']
    const last = await home.run(['validate', '--warnings-as-errors', ...ignored])
    expect({ code: last.code, stdout: last.stdout }).toEqual({
      code: 0,
      stdout: 'Valid: acme (1 file)\n',
    })
    const error = folderWith({ 'realms/a.yaml': broken })
    expect((await error.run(['validate', '--ignore', 'missing-reference'])).code).toBe(3)
  })

  it('writes JSON, and only that', async () => {
    const home = folderWith({ 'realms/a.yaml': broken })
    const { code, stdout, stderr } = await home.run(['validate', '--output', 'json'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      formatVersion: 1,
      valid: false,
      errors: 1,
      warnings: 0,
      realms: ['acme'],
      files: ['realms/a.yaml'],
      diagnostics: [
        {
          code: 'missing-reference',
          place: { file: 'realms/a.yaml', line: 6, column: 13, endColumn: 19 },
        },
      ],
    })
  })

  it('annotates a pull request, with paths from the root of the repository', async () => {
    const home = folderWith({ 'iam/realms/a.yaml': broken })
    const { code, stdout } = await home.run(['validate', '--output', 'github'], {
      cwd: join(home.folder, 'iam'),
      env: { GITHUB_WORKSPACE: home.folder },
    })
    expect(code).toBe(3)
    expect(stdout).toMatch(
      /^::error file=iam\/realms\/a\.yaml,line=6,col=13,endColumn=19,title=missing-reference::group/,
    )
  })

  it('reads the paths that are named, standard input too, and says which do not exist', async () => {
    const home = folderWith({ 'x/a.yaml': broken, 'y/b.yaml': fine })
    expect((await home.run(['validate', 'y'])).code).toBe(0)
    expect((await home.run(['validate', '-'], { input: broken })).stdout).toContain('<stdin>:6:13')
    const missing = await home.run(['validate', 'nowhere'])
    expect(missing.code).toBe(3)
    expect(missing.stdout).toContain('error file-missing: nowhere does not exist')
  })

  it('shows no secret that stands in a file', async () => {
    const home = folderWith({
      'realms/a.yaml':
        'realm: acme\nclients:\n  - clientId: web\n    secret: hunter2\n    colour: x\n',
    })
    for (const output of ['human', 'json', 'github', 'sarif', 'junit']) {
      const { code, stdout, stderr } = await home.run(['validate', '-o', output])
      expect(code).toBe(3)
      expect(stdout + stderr).not.toContain('hunter2')
    }
  })

  it('lists the codes there are', async () => {
    const { code, stdout } = await folderWith({}).run(['validate', '--codes'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^CODE +SEVERITY +MEANING\n/)
    expect(stdout).toMatch(/^missing-reference +error +\w/m)
  })

  it('colours on a terminal, and not where NO_COLOR is set', async () => {
    const home = folderWith({ 'realms/a.yaml': broken })
    const command = [process.execPath, bundle, 'validate']
    const shown = onTerminal(command, { env: home.env, cwd: home.folder })
    expect(await shown.exited).toBe(3)
    expect(shown.screen()).toContain('\u001b[31merror missing-reference')
    const plain = onTerminal(command, { env: { ...home.env, NO_COLOR: '1' }, cwd: home.folder })
    expect(await plain.exited).toBe(3)
    expect(plain.screen()).not.toContain('\u001b[31m')
  })
})

describe('iamctl fmt', () => {
  const untidy = 'settings: {displayName: "Acme"} # s\nrealm: acme\n'
  const tidy = 'realm: acme\nsettings: { displayName: Acme } # s\n'

  it('formats, names what it changed on stdout, and has nothing to do afterwards', async () => {
    const home = folderWith({ 'realms/a.yaml': untidy, 'realms/b.yaml': fine })
    const first = await home.run(['fmt'])
    expect(first).toEqual({
      code: 0,
      stdout: 'realms/a.yaml\n',
      stderr: '1 file formatted, 1 file unchanged\n',
    })
    expect(readFileSync(join(home.folder, 'realms/a.yaml'), 'utf8')).toBe(tidy)
    expect(await home.run(['fmt'])).toEqual({ code: 0, stdout: '', stderr: '2 files unchanged\n' })
  })

  it('ends with 1 where a check finds something, and changes nothing', async () => {
    const home = folderWith({ 'realms/a.yaml': untidy })
    expect(await home.run(['fmt', '--check'])).toEqual({
      code: 1,
      stdout: 'realms/a.yaml\n',
      stderr: '1 file would be formatted\n',
    })
    expect(readFileSync(join(home.folder, 'realms/a.yaml'), 'utf8')).toBe(untidy)
    expect((await folderWith({ 'realms/a.yaml': tidy }).run(['fmt', '--check'])).code).toBe(0)
  })

  it('ends with 3 where a file is not YAML, and says where', async () => {
    const { code, stdout, stderr } = await folderWith({ 'realms/a.yaml': 'realm: [\n' }).run([
      'fmt',
    ])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain('realms/a.yaml:1:8: error yaml-syntax')
  })

  it('goes from standard input to standard output', async () => {
    const { code, stdout } = await folderWith({}).run(['fmt', '-'], { input: untidy })
    expect({ code, stdout }).toEqual({ code: 0, stdout: tidy })
  })

  it('writes JSON', async () => {
    const home = folderWith({ 'realms/a.yaml': untidy })
    const { code, stdout } = await home.run(['fmt', '--check', '--output', 'json'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ check: true, changed: ['realms/a.yaml'], left: [] })
  })
})
