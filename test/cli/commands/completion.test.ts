/** Completion: the offered words. That shells insert them is tested in test/peers/shells.test.ts. */

import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { complete, type Sources } from '#cli/completion/candidates.ts'
import { liveSources } from '#cli/completion/live.ts'
import { createProgram } from '#cli/program.ts'
import { type Home, newHome } from '../../support/processes/cli.ts'
import { startWorld } from './fixture/fixture.ts'

const world = startWorld()

const made = [
  ['/roles', { name: 'one-of-a-kind', description: 'Unique in the realm.' }],
  ['/clients', { clientId: 'web', publicClient: true }],
  ['/clients/web/roles', { name: 'reader' }],
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
    ['get rea', ['realms', ':none']],
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
    ['export --out x', [':files']],
    ['init x', [':folders']],
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
