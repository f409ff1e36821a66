/** Secrets keep their one reference until they are fetched, all at once, and never show. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SecretSource } from '#cli/load/loaded.ts'
import { resolveSecrets, sourceOf } from '#cli/load/secrets/secrets.ts'
import { brief, createFolder } from './folder.ts'

const client = (secret: string): string =>
  `realm: a\nclients:\n  - clientId: web\n    secret: ${secret}\n`

const secretOf = async (secret: string, vars: readonly string[] = []) => {
  using folder = createFolder({ 'iamctl.yaml': '', 'realms/a.yaml': client(secret) })
  const { realms, diagnostics } = await folder.load({ vars })
  const [entry] = (realms[0]?.value['clients'] ?? []) as { secret: unknown }[]
  return { text: entry?.secret, diagnostics }
}

describe('the text of a secret in a loaded realm', () => {
  it.each([
    [`\${env:WEB_SECRET}`, `\${env:WEB_SECRET}`, { from: 'env', name: 'WEB_SECRET' }],
    [
      `"\${exec:pass show 'a' | awk '{print}'}"`,
      `\${exec:pass show 'a' | awk '{print}'}`,
      { from: 'exec', command: "pass show 'a' | awk '{print}'" },
    ],
    [`\${file:s/web.txt}`, `\${file:realms/s/web.txt}`, { from: 'file', path: 'realms/s/web.txt' }],
    [`\${file:../web.txt}`, `\${file:web.txt}`, { from: 'file', path: 'web.txt' }],
    ['plain-text', 'plain-text', { from: 'literal', file: 'f', pointer: '/p' }],
    [`a$\${b}`, `a$\${b}`, { from: 'literal', file: 'f', pointer: '/p' }],
    ['"300"', '300', { from: 'literal', file: 'f', pointer: '/p' }],
  ])('%s says where it comes from', async (written, text, source) => {
    const found = await secretOf(written)
    expect(found).toEqual({ text, diagnostics: [] })
    expect(sourceOf(text, { file: 'f', pointer: '/p' })).toEqual(source)
  })

  it.each([
    ['a number', `\${var:X}`, '300', '300'],
    ['true', `\${var:X}`, 'true', 'true'],
    ['a reference', `\${var:X}`, `\${env:HOME}`, `$\${env:HOME}`],
    ['half of a reference', `\${var:X}{env:HOME}`, '$', `$\${env:HOME}`],
    ['the name in a reference', `\${env:\${var:X}}`, 'A', null],
  ])('that a variable fills with %s is text', async (_, written, given, text) => {
    const found = await secretOf(written, [`X=${given}`])
    if (text === null) expect(found.diagnostics).not.toEqual([])
    else {
      expect(found).toEqual({ text, diagnostics: [] })
      expect(sourceOf(text, { file: 'f', pointer: '' }).from).toBe('literal')
    }
  })

  it.each([
    ['text beside a reference', `Bearer \${env:T}`, 'secret-mixed'],
    ['two references', `\${env:T}\${env:U}`, 'secret-mixed'],
    ['a reference that nobody knows', `\${vault:x.yaml#y}`, 'reference-unknown'],
    ['a file outside of the estate', `\${file:../../x}`, 'file-outside'],
    ['a file anywhere', `\${file:/run/secrets/x}`, 'file-outside'],
  ])('is refused: %s', async (_, written, code) => {
    const { diagnostics } = await secretOf(written)
    expect(brief(diagnostics)).toEqual([`realms/a.yaml:4:13 ${code}`])
  })

  it('is known in nested fields, in overlays, of every kind that has secrets', async () => {
    using folder = createFolder({
      'iamctl.yaml': '',
      'realms/a.yaml': `realm: a
users: [{ username: u, initialPassword: "\${env:A}" }]
identityProviders: [{ alias: i, config: { clientSecret: "\${env:B}", clientId: "\${env:C}" } }]
scimTargets: [{ name: s, token: "\${env:D}", baseUrl: "\${env:E}" }]
subjectClaim: { salt: "\${env:F}" }
`,
      'over/a.yaml': `realm: a\nwebhooks: [{ name: w, add: true, secret: "\${file:w.txt}" }]\n`,
    })
    const { realms, diagnostics } = await folder.load({ overlays: ['over'] })
    expect(brief(diagnostics)).toEqual([
      'realms/a.yaml:3:79 reference-not-secret',
      'realms/a.yaml:4:54 reference-not-secret',
    ])
    expect(realms[0]?.value).toMatchObject({
      users: [{ initialPassword: `\${env:A}` }],
      identityProviders: [{ config: { clientSecret: `\${env:B}` } }],
      scimTargets: [{ token: `\${env:D}` }],
      subjectClaim: { salt: `\${env:F}` },
      webhooks: [{ secret: `\${file:over/w.txt}` }],
    })
  })
})

describe('secrets are fetched', () => {
  const fetched = async (
    list: readonly (SecretSource & { text?: string })[],
    allowExec = true,
    env: Record<string, string> = {},
  ) => {
    using folder = createFolder({
      'a.txt': 'from file\n',
      'two.txt': 'x\n\n',
      'empty.txt': '\n',
      'count.sh': 'echo x >> runs; wc -l < runs',
    })
    symlinkSync('/etc/hostname', join(folder.path, 'link'))
    return await resolveSecrets(
      list.map(({ text, ...source }) => ({
        source: source as SecretSource,
        ...(text === undefined ? {} : { text }),
        place: { file: 'f', line: 1, column: 2 },
      })),
      { env: { PATH: process.env['PATH'] ?? '', ...env }, root: folder.path, allowExec },
    )
  }

  it('from the environment, files, commands and the text itself', async () => {
    const { values, diagnostics } = await fetched(
      [
        { from: 'env', name: 'A' },
        { from: 'file', path: 'a.txt' },
        { from: 'file', path: 'two.txt' },
        { from: 'exec', command: 'printf "%s\\n" "$A-$(cat a.txt)"' },
        { from: 'literal', file: 'f', pointer: '/p', text: `a$\${b}` },
      ],
      true,
      { A: ' spaces stay ' },
    )
    expect(diagnostics).toEqual([])
    expect(values).toEqual([
      ' spaces stay ',
      'from file',
      'x\n',
      ' spaces stay -from file',
      `a\${b}`,
    ])
  })

  it('once each, however often they are named', async () => {
    const command = { from: 'exec', command: 'sh count.sh' } as const
    const { values } = await fetched([command, command, command])
    expect(values.map((value) => value?.trim())).toEqual(['1', '1', '1'])
  })

  it.each([
    [{ from: 'env', name: 'GONE' }, 'secret-env', /variable GONE is not set/],
    [{ from: 'env', name: 'NONE' }, 'secret-empty', /empty/],
    [{ from: 'file', path: 'gone.txt' }, 'secret-file', /gone\.txt of a secret does not exist/],
    [{ from: 'file', path: '../x' }, 'secret-file', /lies outside of the estate/],
    [{ from: 'file', path: 'link' }, 'secret-file', /is a link out of the estate/],
    [{ from: 'file', path: 'empty.txt' }, 'secret-empty', /empty/],
    [{ from: 'exec', command: 'true' }, 'secret-empty', /empty/],
    [{ from: 'exec', command: 'exit 3' }, 'secret-exec', /ended with exit code 3/],
    [{ from: 'exec', command: 'kill -9 $$' }, 'secret-exec', /SIGKILL|exit code 137/],
    [{ from: 'literal', file: 'f', pointer: '/p' }, 'secret-literal', /not at hand/],
  ] as const)('or told of: %j is %s', async (source, code, message) => {
    const { values, diagnostics } = await fetched([source], true, { NONE: '' })
    expect(values).toEqual([null])
    expect(brief(diagnostics)).toEqual([`f:1:2 ${code}`])
    expect(diagnostics[0]?.message).toMatch(message)
  })

  it('by no command unless commands are allowed', async () => {
    const { values, diagnostics } = await fetched([{ from: 'exec', command: 'echo x' }], false)
    expect(values).toEqual([null])
    expect(diagnostics).toMatchObject([
      { code: 'secret-exec-refused', hint: expect.stringContaining('--allow-exec') },
    ])
  })

  it('and what a failing command wrote to standard output is never shown, its errors are', async () => {
    const { diagnostics } = await fetched([
      { from: 'exec', command: 'echo hunter2; echo "no \u001b[31mvault" >&2; exit 1' },
    ])
    expect(diagnostics[0]?.hint).toBe('no \\u001b[31mvault')
    const { message: _, ...rest } = diagnostics[0] ?? {}
    expect(JSON.stringify(rest)).not.toContain('hunter2')
  })

  it('and all that are missing are told of in one run', async () => {
    const { diagnostics } = await fetched([
      { from: 'env', name: 'A' },
      { from: 'file', path: 'b' },
      { from: 'env', name: 'C' },
    ])
    expect(diagnostics).toHaveLength(3)
  })

  it('and each that is missing is one error, with the first place and the count, however often it is used', async () => {
    const gone = { from: 'env', name: 'GONE' } as const
    const { values, isUnset, diagnostics } = await fetched(
      [gone, { from: 'env', name: 'NONE' }, gone, { from: 'file', path: 'b' }, gone],
      true,
      { NONE: '' },
    )
    expect(values).toEqual([null, null, null, null, null])
    expect(isUnset).toEqual([true, false, true, false, true])
    expect(diagnostics.map(({ message }) => message)).toEqual([
      'the environment variable GONE is not set (used 3 times, first here)',
      'the value of this secret is empty',
      'the file b of a secret does not exist',
    ])
  })
})
