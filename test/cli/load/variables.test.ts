/** Variables and files in values: where they come from, which type they have, and that nothing is read twice. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { LoadOptions } from '#cli/load/load.ts'
import { brief, createFolder } from './folder.ts'

const load = async (
  text: string,
  options: Partial<LoadOptions> = {},
  files: Readonly<Record<string, string>> = {},
) => {
  using folder = createFolder({ 'iamctl.yaml': '', 'realms/a.yaml': text, ...files })
  return await folder.load(options)
}

/** What `x` is in a realm that says `x: <text>`. */
const filled = async (
  text: string,
  vars: readonly string[],
  files: Readonly<Record<string, string>> = {},
) => {
  const { realms, diagnostics } = await load(
    `realm: a\nx: ${text}\n`,
    { vars, ...(files['vars.yaml'] === undefined ? {} : { varFiles: ['vars.yaml'] }) },
    files,
  )
  expect(diagnostics.filter(({ code }) => code !== 'variable-unused')).toEqual([])
  return realms[0]?.value['x']
}

describe('a variable that is the whole value', () => {
  it.each([
    ['true', true],
    ['300', 300],
    ['1.5', 1.5],
    ['', null],
    ['text', 'text'],
    ['https://a.example', 'https://a.example'],
    ['[x]', '[x]'],
    ['a: b', 'a: b'],
    ['12345678901234567890', '12345678901234567890'],
    ['.nan', '.nan'],
    ['two=signs', 'two=signs'],
  ])('given as %j is %j', async (given, value) => {
    expect(await filled(`\${var:X}`, [`X=${given}`])).toEqual(value)
  })

  it.each([
    ['in quotes is text', `"\${var:X}"`, '300'],
    ['in single quotes is text', `'\${var:X}'`, '300'],
    ['in block text is text', `|-\n  \${var:X}`, '300'],
    ['in a flow list, where it must be quoted, has its type', `["\${var:X}"]`, [300]],
    ['in a flow map too', `{ "n": "\${var:X}" }`, { n: 300 }],
  ])('%s', async (_, text, value) => {
    expect(await filled(text, ['X=300'])).toEqual(value)
  })

  it('keeps the type that a file of variables gives it', async () => {
    const files = { 'vars.yaml': 'S: "300"\nN: 300\nB: off\nV: 1.10\n' }
    expect(await filled(`["\${var:S}", "\${var:N}", "\${var:B}"]`, [], files)).toEqual([
      '300',
      300,
      'off',
    ])
    expect(await filled(`v\${var:V}`, [], files)).toBe('v1.10')
  })
})

describe('a variable that is part of a text', () => {
  it.each([
    ['in front', `\${var:X}/y`, '300/y'],
    ['behind', `y-\${var:X}`, 'y-300'],
    ['more than once', `\${var:X}\${var:X}-\${var:X}`, '300300-300'],
    ['in block text', `|\n  a \${var:X}\n  b`, 'a 300\nb\n'],
    ['with a default', `a\${var:Y:-b}`, 'ab'],
    ['with an empty default', `a\${var:Y:-}`, 'a'],
    ['with a default that is not needed', `a\${var:X:-b}`, 'a300'],
    ['with a default full of signs', `a\${var:Y:-b:c-d/e?f=g $h}`, 'ab:c-d/e?f=g $h'],
    ['beside an escape', `$\${var:X} \${var:X}`, `\${var:X} 300`],
    ['beside a dollar', `$ $5 \${var:X}$`, '$ $5 300$'],
    ['beside two dollars', `$$\${x}`, `$\${x}`],
  ])('%s stays text', async (_, text, value) => {
    expect(await filled(text, ['X=300'])).toBe(value)
  })

  it.each([
    ['a default has a type as a whole value', `\${var:Y:-5}`, 5],
    ['an escape alone', `$\${env:X}`, `\${env:X}`],
  ])('%s', async (_, text, value) => {
    expect(await filled(text, [])).toBe(value)
  })

  it.each([
    [`\${env:HOME}`],
    [`\${var:X}`],
    [`\${var:OTHER}`],
    [`\${file:/etc/passwd}`],
    [`$\${x}`],
    ['$'],
  ])('with the value %s is not read for references again', async (given) => {
    expect(await filled(`\${var:X}`, [`X=${given}`, 'OTHER=1'])).toBe(given)
    expect(await filled(`a\${var:X}{env:HOME}`, [`X=${given}`, 'OTHER=1'])).toBe(
      `a${given}{env:HOME}`,
    )
  })
})

describe('where a variable comes from', () => {
  const files = {
    'iamctl.yaml': 'vars: { A: estate, B: estate, C: estate, D: estate }\n',
    'one.yaml': 'B: one\nC: one\nE: one\n',
    'two.yaml': 'C: two\nE: two\n---\nF: two\n',
  }
  const text = `realm: a\nx: "\${var:A} \${var:B} \${var:C} \${var:D} \${var:E} \${var:F}"\n`

  it('is --var, else the environment, else the last file, else iamctl.yaml', async () => {
    const { realms, diagnostics } = await load(
      text,
      {
        vars: ['D=first', 'D=flag'],
        varFiles: ['one.yaml', 'two.yaml'],
        env: { IAMCTL_VAR_D: 'env', IAMCTL_VAR_E: 'env', IAMCTL_VAR_: 'x', IAMCTL_SERVER: 'y' },
      },
      files,
    )
    expect(diagnostics).toEqual([])
    expect(realms[0]?.value['x']).toBe('estate one two flag env two')
  })

  it.each([
    [`realm: \${var:R}-x`, { realm: 'acme-x' }],
    [
      `realm: \${var:R}\nroles: [{ name: r }]\n---\nrealm: acme\nroles: [{ name: "x\${var:R}" }]`,
      { realm: 'acme', roles: [{ name: 'r' }, { name: 'xacme' }] },
    ],
  ])('does not matter for names: %j', async (written, value) => {
    const { realms, diagnostics } = await load(written, {
      vars: ['R=acme'],
    })
    expect(diagnostics).toEqual([])
    expect(realms.map((realm) => realm.value)).toEqual([value])
  })

  it('does not matter for what stands twice, and an overlay finds entries by the filled name', async () => {
    const written = `realm: a\nroles: [{ name: "\${var:N}" }, { name: x }]\n`
    const twice = await load(written, { vars: ['N=x'] })
    expect(brief(twice.diagnostics)).toEqual(['realms/a.yaml:2:39 duplicate-entry'])
    const laid = await load(
      written,
      { vars: ['N=y'], overlays: ['o.yaml'] },
      {
        'o.yaml': 'realm: a\nroles: [{ name: y, description: Y }]\n',
      },
    )
    expect(laid.realms[0]?.value['roles']).toEqual([{ name: 'y', description: 'Y' }, { name: 'x' }])
  })

  it('is every place of an alias', async () => {
    const { realms } = await load(`realm: a\nx: &u [ "\${var:U}" ]\ny: *u\n`, { vars: ['U=1'] })
    expect(realms[0]?.value).toEqual({ realm: 'a', x: [1], y: [1] })
  })
})

describe('a reference is wrong when', () => {
  it.each([
    [
      'nobody gives the variable',
      `\${var:REGIN}`,
      'variable-unknown',
      '2:4-16',
      'did you mean "REGION"?',
    ],
    [
      'it is in a text',
      `"eu-\${var:NOPE}-1"`,
      'variable-unknown',
      '2:8-19',
      /--var NOPE=…, IAMCTL_VAR_NOPE/,
    ],
    ['it names nothing', `\${var:}`, 'reference-unknown', '2:4-11', /a name begins with a letter/],
    [
      'it is spelt wrong',
      `\${var:a b}`,
      'reference-unknown',
      '2:4-14',
      /a name begins with a letter/,
    ],
    ['it is not closed', `x \${var:REGION`, 'reference-unknown', '2:6-18', /add the "}"/],
    [
      'there is no such kind',
      `\${keys:x#y}`,
      'reference-unknown',
      '2:4-15',
      /these exist: .*file:PATH/,
    ],
    [
      'it is of the shell',
      `\${HOME}/x`,
      'reference-unknown',
      '2:4-11',
      /write \$\$\{ where \$\{ itself is meant/,
    ],
    ['its file is not named', `\${file:}`, 'reference-unknown', '2:4-12', /write \$\{var:NAME}/],
    [
      'the environment is asked outside of a secret',
      `\${env:REGION}`,
      'reference-not-secret',
      '2:4-17',
      /use \$\{var:REGION}/,
    ],
    [
      'a command is run outside of a secret',
      `\${exec:id}`,
      'reference-not-secret',
      '2:4-14',
      /use \$\{var:NAME}/,
    ],
  ])('%s', async (_, text, code, where, hint) => {
    const { diagnostics } = await load(`realm: a\nx: ${text}\n`, { vars: ['REGION=eu'] })
    const [found, ...others] = diagnostics
    expect(others).toEqual([])
    const { line, column, endColumn } = found?.place ?? {}
    expect([found?.code, `${line}:${column}-${endColumn}`]).toEqual([code, where])
    expect(found?.hint).toMatch(hint)
  })

  it('it stands in a key', async () => {
    const { diagnostics } = await load(`realm: a\nx: { "\${var:X}": 1, "$\${y}": 2 }\n`)
    expect(brief(diagnostics)).toEqual(['realms/a.yaml:2:6 reference-in-key'])
  })

  it.each([
    [['X'], 'variable-flag'],
    [['=1'], 'variable-flag'],
    [['a b=1'], 'variable-flag'],
  ])('--var is %j', async (vars, code) => {
    expect(brief((await load('realm: a\n', { vars })).diagnostics)).toEqual([`- ${code}`])
  })

  it.each([
    ['[1]', ['v.yaml:1:1 variable-file']],
    [
      'A: [1]\nB: ~\nC: {}',
      ['v.yaml:1:4 variable-value', 'v.yaml:2:4 variable-value', 'v.yaml:3:4 variable-value'],
    ],
    ['a b: 1', ['v.yaml:1:1 variable-name']],
    ['A: 1\nA: 2', ['v.yaml:2:1 yaml-duplicate-key']],
  ])('a file of variables says %j', async (text, expected) => {
    const { diagnostics } = await load('realm: a\n', { varFiles: ['v.yaml'] }, { 'v.yaml': text })
    expect(brief(diagnostics)).toEqual(expected)
  })
})

describe('a variable that nobody asks for', () => {
  it('is a warning where --var gives it, with what was probably meant', async () => {
    const { diagnostics } = await load(`realm: a\nx: \${var:REGION:-eu}\n`, { vars: ['REGOIN=us'] })
    expect(diagnostics).toMatchObject([
      { severity: 'warning', code: 'variable-unused', hint: 'did you mean "REGION"?' },
    ])
  })

  it('is fine in a file, in the environment and in iamctl.yaml', async () => {
    const { diagnostics } = await load(
      'realm: a\n',
      { varFiles: ['v.yaml'], env: { IAMCTL_VAR_Y: '1' } },
      { 'v.yaml': 'X: 1\n', 'iamctl.yaml': 'vars: { Z: 1 }\n' },
    )
    expect(diagnostics).toEqual([])
  })
})

describe('a file in a field that is no secret', () => {
  it('is read from the folder of the file that names it, without its last line break', async () => {
    const { realms, diagnostics } = await load(
      `realm: a\nx: \${file:texts/hello.txt}\ny: "<\${file:../shared.txt}>"\n`,
      {},
      { 'realms/texts/hello.txt': `Hello \${var:NOBODY}\n\n`, 'shared.txt': 'x\r\n' },
    )
    expect(diagnostics).toEqual([])
    expect(realms[0]?.value).toMatchObject({ x: `Hello \${var:NOBODY}\n`, y: '<x>' })
  })

  it('of an overlay is meant from the overlay', async () => {
    const { realms } = await load(
      'realm: a\nroles: [{ name: x }]\n',
      { overlays: ['overlays/prod'] },
      {
        'overlays/prod/a.yaml': `realm: a\nroles: [{ name: x, description: "\${file:d.txt}" }]\n`,
        'overlays/prod/d.txt': 'from prod',
      },
    )
    expect(realms[0]?.value['roles']).toEqual([{ name: 'x', description: 'from prod' }])
  })

  it.each([
    ['../../x', 'lies outside of the estate'],
    ['/etc/hostname', 'lies outside of the estate'],
    ['out', 'is a link out of the estate'],
    ['nothing', 'does not exist'],
    ['.', 'is a folder'],
    ['big', 'is larger than 1048576 bytes'],
    ['bytes', 'is not UTF-8'],
  ])('that is %s %s', async (path, problem) => {
    using folder = createFolder({
      'iamctl.yaml': '',
      'realms/a.yaml': `realm: a\nx: \${file:${path}}\n`,
      'realms/big': 'x'.repeat(1024 * 1024 + 1),
      'realms/bytes': Buffer.from([0xff]),
    })
    symlinkSync('/etc/hostname', join(folder.path, 'realms/out'))
    const { diagnostics } = await folder.load()
    expect(brief(diagnostics)).toEqual(['realms/a.yaml:2:4 reference-file'])
    expect(diagnostics[0]?.message).toBe(`${path} ${problem}`)
  })
})
