/** Completion: bash, zsh and fish themselves write what is offered, at a terminal. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { startWorld } from '../cli/commands/fixture/fixture.ts'
import { bundle } from '../support/processes/cli.ts'
import { pathOf } from '../support/processes/programs/programs.ts'
import { temporaryFolder } from '../support/processes/server-process.ts'
import { onTerminal } from '../support/processes/terminal.ts'

const world = startWorld()

const made = [
  ['/roles', { name: 'one-of-a-kind', description: 'Unique in the realm.' }],
  ['/client-scopes', { name: 'orders:read', description: 'Told by its colon.' }],
  ['/organizations', { alias: 'two words', name: 'Told by its space.' }],
] as const

beforeAll(async () => {
  for (const [path, body] of made) {
    const { status } = await world().admin.send('POST', `/admin/realms/acme${path}`, body)
    if (status !== 201) throw new Error(`${path}: ${status}`)
  }
})

describe('a shell', () => {
  const shells = [
    ['bash', ['bash', '--norc', '--noprofile', '-i'], 'eval "$(iamctl completion bash)"'],
    [
      'zsh',
      [pathOf('zsh'), '-f', '-i'],
      'autoload -Uz compinit && compinit -D -u; eval "$(iamctl completion zsh)"',
    ],
    ['fish', [pathOf('fish'), '--no-config', '-i'], 'iamctl completion fish | source'],
  ] as const

  it.each(shells)(
    '%s writes the rest of commands, flags, keys, fields and files',
    async (_, command, setUp) => {
      const folder = temporaryFolder()
      const { env } = world().home
      const bin = join(folder, 'bin')
      mkdirSync(bin)
      const program = join(bin, 'iamctl')
      // Completes as it does, and tells what it would have been called with.
      writeFileSync(
        program,
        `#!/bin/sh
case "$1" in
  __complete|completion) exec '${process.execPath}' '${bundle}' "$@" ;;
  *) printf '<%s>' "$@"; echo ;;
esac
`,
      )
      chmodSync(program, 0o755)
      writeFileSync(join(folder, 'only-file.yaml'), 'realm: told-by-its-file\n')
      const shell = onTerminal(command, {
        cwd: folder,
        env: { ...env, PATH: `${bin}:${env['PATH']}`, PS1: '$ ', NO_COLOR: '1' },
      })
      shell.type(`${setUp}; echo set"-"up\n`)
      await shell.waitFor('set-up')
      for (const [line, output] of [
        ['iamctl whoa\t-o jso\t\n', '<whoami><-o><json>'],
        ['iamctl get role one-of\t-o yaml\n', '<get><role><one-of-a-kind><-o><yaml>'],
        ['iamctl get client-scope orders:re\t-o yaml\n', '<client-scope><orders:read><-o><yaml>'],
        ['iamctl get organization two\t-o yaml\n', '<organization><two words><-o><yaml>'],
        [
          'iamctl explain --output=hu\tclient.redirectU\t\n',
          '<explain><--output=human><client.redirectUris>',
        ],
        ['iamctl validate only\t\n', '<validate><only-file.yaml>'],
      ] as const) {
        shell.type(line)
        await shell.waitFor(output)
      }
      shell.type('exit\n')
      await shell.exited
    },
  )
})
