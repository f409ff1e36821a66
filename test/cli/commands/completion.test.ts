/** Completion: what is offered, and that bash, zsh and fish themselves write it at a terminal. */

import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { complete, type Sources } from '#cli/completion/candidates.ts'
import { liveSources } from '#cli/completion/live.ts'
import { createProgram } from '#cli/program.ts'
import { bundle, type Home, newHome } from '../../support/cli.ts'
import { ensureInstalled, installTimeout } from '../../support/debian.ts'
import { temporaryFolder } from '../../support/server-process.ts'
import { onTerminal } from '../../support/terminal.ts'
import { startWorld } from './fixture.ts'

const world = startWorld()

const made = [
  ['/roles', { name: 'one-of-a-kind', description: 'Unique in the realm.' }],
  ['/client-scopes', { name: 'orders:read', description: 'Told by its colon.' }],
  ['/clients', { clientId: 'web', publicClient: true }],
  ['/clients/web/roles', { name: 'reader' }],
  ['/organizations', { alias: 'two words', name: 'Told by its space.' }],
  ['/webhooks', { name: 'siem', url: 'https://siem.example', eventTypes: '*', enabled: false }],
] as const

beforeAll(async () => {
  for (const [path, body] of made) {
    const { status } = await world().admin.send('POST', `/admin/realms/acme${path}`, body)
    if (status !== 201) throw new Error(`${path}: ${status}`)
  }
})

describe('what is offered', () => {
  const offered = async (home: Home, line: string): Promise<string[]> => {
    const { code, stdout, stderr } = await home.run(['__complete', '--', ...line.split(' ')])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
      .trimEnd()
      .split('\n')
      .map((one) => one.split('\t')[0] ?? '')
  }

  const nothing = async (): Promise<readonly string[]> => []
  const nobody: Sources = {
    realms: nothing,
    contexts: nothing,
    servers: nothing,
    users: nothing,
    keys: nothing,
  }

  const stranger = (): Home => {
    const home = newHome()
    onTestFinished(home.remove)
    return home
  }

  const completed = async (line: string, sources: Sources): Promise<string[]> => {
    const { candidates, rest, isWhole } = await complete(createProgram(), line.split(' '), sources)
    return [...candidates.map(({ value }) => value), `:${rest}${isWhole ? '' : ' nospace'}`]
  }

  it.each([
    ['whoa', ['whoami', ':none']],
    ['keys r', ['rotate', ':none']],
    ['get clients --re', ['--realm', ':none']],
    ['history --lim', ['--limit', ':none']],
    ['validate -o gi', ['github', ':none']],
    ['validate --output=gi', ['--output=github', ':none']],
    ['--output json get webh', ['webhooks', ':none']],
    ['init --template wo', ['workforce', ':none']],
    ['explain webhook.se', ['webhook.secret', ':none']],
    ['explain estate.guards.max', ['estate.guards.maxDeletions', ':none']],
    ['plan --target webh', ['webhook/', ':none nospace']],
    ['plan real', [':files']],
    ['plan --out x', [':files']],
    ['export --out x', [':folders']],
    ['completion z', ['zsh', ':none']],
    ['get nonsense x', [':none']],
    ['nonsense x', [':none']],
    ['__comp', [':none']],
  ])('behind "%s", without a server', async (line, expected) => {
    expect(await completed(line, nobody)).toEqual(expected)
  })

  it.each([
    ['get roles one', ['one-of-a-kind', ':none']],
    ['--realm acme get roles one', ['one-of-a-kind', ':none']],
    ['delete client we', ['web', ':none']],
    ['get client-role we', ['web/', ':none nospace']],
    ['get client-role web/re', ['web/reader', ':none']],
    ['plan --target client/we', ['client/web', ':none']],
    ['webhooks test si', ['siem', ':none']],
    ['adopt client/we', ['client/web', ':none']],
    ['users lock al', ['alice', ':none']],
    ['get users al', ['alice', ':none']],
    ['sessions list --user al', ['alice', ':none']],
    ['get roles --realm ac', ['acme', ':none']],
    ['get roles --realm nowhere one', [':none']],
  ])('behind "%s", of what the server has', async (line, expected) => {
    const { env, folder } = world().home
    expect(await completed(line, liveSources({ env, cwd: folder }))).toEqual(expected)
  })

  it.each([
    ['get client-role web/re', ['web/reader', ':none']],
    ['get nonsense x', [':none']],
    ['explain nonsense.x', [':none']],
  ])('behind "%s", by the program', async (line, expected) => {
    expect(await offered(world().home, line)).toEqual(expected)
  })

  it('are contexts of this machine and of the estate', async () => {
    const home = stranger()
    await home.run(['context', 'set', 'staging', '--server', 'https://staging.example'])
    writeFileSync(
      join(home.folder, 'iamctl.yaml'),
      'contexts:\n  prod: { server: https://prod.example }\n',
    )
    expect(await offered(home, 'get --context ')).toEqual(['staging', 'prod', ':none'])
    expect(await offered(home, 'plan --server https://p')).toEqual([
      'https://prod.example',
      ':none',
    ])
  })

  it('is nothing, soon and in silence, where the server does not answer', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const env = {
      IAMCTL_TOKEN: 'x',
      IAMCTL_REALM: 'acme',
      IAMCTL_SERVER: `http://127.0.0.1:${port}`,
    }
    const home = newHome(env)
    onTestFinished(home.remove)
    expect(await offered(home, 'get roles x')).toEqual([':none'])
  })
})

describe('a shell', () => {
  beforeAll(() => {
    ensureInstalled({
      purpose: 'the tests of completion',
      packages: ['zsh', 'fish'],
      files: ['/usr/bin/zsh', '/usr/bin/fish'],
    })
  }, installTimeout)

  const shells = [
    ['bash', ['bash', '--norc', '--noprofile', '-i'], 'eval "$(iamctl completion bash)"'],
    [
      'zsh',
      ['zsh', '-f', '-i'],
      'autoload -Uz compinit && compinit -D -u; eval "$(iamctl completion zsh)"',
    ],
    ['fish', ['fish', '--no-config', '-i'], 'iamctl completion fish | source'],
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
