/**
 * A credential is sent only to the server that the operator named, also if files of the repository name another one
 * (CWE-522).
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '#cli/context/store.ts'
import { serializePlan } from '#cli/planning/saved.ts'
import { bundle, type Home, newHome } from '../../../support/processes/cli.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'
import { isLong } from '../../../support/run/chance.ts'
import { startRecordingServer } from '../fixture/recording-server.ts'

const secret = 'Sesame-opens-the-door-7'

interface Credential {
  readonly env?: Readonly<Record<string, string>>
  readonly flags?: (home: Home) => readonly string[]
}

const secretFile = ({ folder }: Home): string => {
  const file = join(folder, 'kept.txt')
  writeFileSync(file, `${secret}\n`)
  return file
}

const credentials: Readonly<Record<string, Credential>> = {
  IAMCTL_TOKEN: { env: { IAMCTL_TOKEN: secret } },
  IAMCTL_PASSWORD: { env: { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: secret } },
  '--password-file': {
    env: { IAMCTL_USERNAME: 'admin' },
    flags: (home) => ['--password-file', secretFile(home)],
  },
  IAMCTL_CLIENT_SECRET: { env: { IAMCTL_CLIENT_ID: 'pipeline', IAMCTL_CLIENT_SECRET: secret } },
  IAMCTL_CLIENT_SECRET_FILE: {
    env: { IAMCTL_CLIENT_ID: 'pipeline', IAMCTL_CLIENT_SECRET_FILE: 'kept.txt' },
    flags: (home) => {
      secretFile(home)
      return []
    },
  },
}

interface Setting {
  readonly home: Home
  readonly good: string
  readonly evil: string
}

/** How the server comes to be named: what is prepared, and what the command line and the environment add. */
interface Naming {
  readonly prepare?: (setting: Setting) => void
  readonly flags?: (setting: Setting) => readonly string[]
  readonly env?: (setting: Setting) => Readonly<Record<string, string>>
}

const estate = ({ home }: Setting, server: string, name = 'prod', isDefault = true): void =>
  writeFileSync(
    join(home.folder, 'iamctl.yaml'),
    JSON.stringify({
      source: 'shop',
      contexts: { [name]: { server, username: 'admin' } },
      ...(isDefault ? { defaultContext: name } : {}),
    }),
  )

/** As `iamctl context set` keeps it, which test/cli/commands/context.test.ts shows; the first one is in use. */
const keep = ({ home }: Setting, server: string, name: string): void =>
  openStore(home.env).change(({ current, contexts, sessions }) => ({
    current: current ?? name,
    contexts: { ...contexts, [name]: { server } },
    sessions,
  }))

const byOperator: Readonly<Record<string, Naming>> = {
  '--server, against the file': {
    prepare: (all) => estate(all, all.evil),
    flags: ({ good }) => ['--server', good],
  },
  'IAMCTL_SERVER, against the file': {
    prepare: (all) => estate(all, all.evil),
    env: ({ good }) => ({ IAMCTL_SERVER: good }),
  },
  'the context in use': { prepare: (all) => keep(all, all.good, 'mine') },
  'a context of this machine by --context': {
    prepare: (all) => {
      keep(all, all.evil, 'first')
      keep(all, all.good, 'mine')
    },
    flags: () => ['--context', 'mine'],
  },
  'the file and a context of this machine alike': {
    prepare: (all) => {
      keep(all, all.good, 'mine')
      estate(all, `${all.good}/`)
    },
  },
}

const byFileAlone: Readonly<Record<string, Naming>> = {
  'the default context of iamctl.yaml': { prepare: (all) => estate(all, all.evil) },
  'a context of iamctl.yaml by --context': {
    prepare: (all) => estate(all, all.evil, 'prod', false),
    flags: () => ['--context', 'prod'],
  },
  'a context of iamctl.yaml by IAMCTL_CONTEXT': {
    prepare: (all) => estate(all, all.evil, 'prod', false),
    env: () => ({ IAMCTL_CONTEXT: 'prod' }),
  },
  'a file by --config': {
    prepare: (all) => {
      mkdirSync(join(all.home.folder, 'sub'))
      const other = {
        contexts: { x: { server: all.evil, username: 'admin' } },
        defaultContext: 'x',
      }
      writeFileSync(join(all.home.folder, 'sub', 'other.yaml'), JSON.stringify(other))
    },
    flags: () => ['--config', 'sub/other.yaml'],
  },
  'iamctl.yaml over the context in use': {
    prepare: (all) => {
      keep(all, all.good, 'mine')
      estate(all, all.evil)
    },
  },
  'iamctl.yaml, in the name of a context of this machine': {
    prepare: (all) => {
      keep(all, all.good, 'prod')
      estate(all, all.evil, 'prod', false)
    },
    flags: () => ['--context', 'prod'],
  },
  'iamctl.yaml, with another path of the same host': {
    prepare: (all) => {
      keep(all, all.good, 'mine')
      estate(all, `${all.evil}/realms/master`)
    },
  },
}

const newSetting = async () => {
  const home = newHome()
  onTestFinished(home.remove)
  const good = await startRecordingServer()
  const evil = await startRecordingServer()
  return { home, good, evil, all: { home, good: good.url, evil: evil.url } }
}

const commands = [['whoami'], ['get', 'clients', '--realm', 'acme'], ['login']] as const

/** One in turn; all of them in the long run. */
const commandsFor = (naming: string) =>
  isLong
    ? commands
    : commands.filter(
        (_, index) => index === Object.keys(byFileAlone).indexOf(naming) % commands.length,
      )

describe.each(Object.entries(credentials))('%s', (kind, credential) => {
  /** Each place of a list is tried with one of the credentials; in the long run with all of them. */
  const isTurn = (place: number): boolean => {
    const kinds = Object.keys(credentials)
    return isLong || place % kinds.length === kinds.indexOf(kind)
  }

  it.each(Object.entries(byOperator))('goes to the server of %s', async (__, naming) => {
    const { home, good, evil, all } = await newSetting()
    naming.prepare?.(all)
    const flags = [...(credential.flags?.(home) ?? []), ...(naming.flags?.(all) ?? [])]
    await home.run(['whoami', ...flags], { env: { ...credential.env, ...naming.env?.(all) } })
    expect(good.received.length).toBeGreaterThan(0)
    expect(evil.received).toEqual([])
  })

  it.each(Object.entries(byFileAlone))('never goes to the server of %s', async (name, naming) => {
    const { home, good, evil, all } = await newSetting()
    naming.prepare?.(all)
    const flags = [...(credential.flags?.(home) ?? []), ...(naming.flags?.(all) ?? [])]
    const env = { ...credential.env, ...naming.env?.(all) }
    for (const command of commandsFor(name)) {
      const { code, stdout, stderr } = await home.run([...command, ...flags], { env })
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
      expect(stderr).toMatch(/only iamctl\.yaml names this server.*--server.*iamctl context set/s)
      expect(stderr).not.toContain(secret)
    }
    expect(good.received).toEqual([])
    if (isTurn(Object.keys(byFileAlone).indexOf(name)))
      await home.run(['__complete', '--', 'get', 'clients', ...flags, '--realm', ''], { env })
    expect(evil.received).toEqual([])
  })

  it('does not follow a redirect to another server, nor endpoints that another server has', async () => {
    const { home, evil } = await newSetting()
    for (const status of [301, 302, 303, 307, 308].filter((_, place) => isTurn(place))) {
      const good = await startRecordingServer(({ url: path }, answer) => {
        answer
          .writeHead(status, { location: `${evil.url}${path}`, 'set-cookie': 'XSRF-TOKEN=a' })
          .end()
      })
      const flags = credential.flags?.(home) ?? []
      const env = { ...credential.env, IAMCTL_SERVER: good.url }
      expect((await home.run(['whoami', ...flags], { env })).code).not.toBe(0)
    }
    const good = await startRecordingServer((_request, answer) => {
      const issuer = `${evil.url}/realms/master`
      answer.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'XSRF-TOKEN=a' })
      answer.end(JSON.stringify({ issuer, token_endpoint: `${issuer}/token` }))
    })
    const env = { ...credential.env, IAMCTL_SERVER: good.url }
    await home.run(['whoami', ...(credential.flags?.(home) ?? [])], { env })
    expect(evil.received).toEqual([])
  })
})

describe('a session of this machine', () => {
  it('goes to the server that it was begun at, also where a file names that one, and to no other', async () => {
    const { home, good, evil, all } = await newSetting()
    const env = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: secret }
    expect((await home.run(['login', '--server', good.url], { env })).code).toBe(0)
    good.received.length = 0
    estate(all, evil.url)
    expect((await home.run(['whoami'])).code).toBe(4)
    expect(evil.received).toEqual([])
    estate(all, good.url)
    expect((await home.run(['whoami'])).code).toBe(0)
    expect(good.received.join()).toContain('given-session')
  })

  it('does not reach a server whose cookies another one set', async () => {
    const { home, good, evil } = await newSetting()
    const env = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: secret }
    await home.run(['login', '--server', good.url], { env })
    await home.run(['whoami', '--server', evil.url])
    expect(evil.received.join()).not.toContain('given-session')
  })
})

describe('a password', () => {
  it('is not asked for where only a file names the server', async () => {
    const { home, evil, all } = await newSetting()
    estate(all, evil.url)
    for (const command of ['whoami', 'login']) {
      const line = [process.execPath, bundle, command, '--username', 'admin']
      const terminal = onTerminal(line, { env: home.env, cwd: home.folder })
      expect(await terminal.exited).toBe(4)
      expect(terminal.screen()).not.toContain('Password')
    }
    expect(evil.received).toEqual([])
  })
})

describe('a plan file', () => {
  it('does not name the server that it is applied to', async () => {
    const { home, good, evil } = await newSetting()
    const file = join(home.folder, 'plan.json')
    const head = {
      formatVersion: 1,
      version: '0.1.0',
      createdAt: new Date().toISOString(),
      guards: { maxDeletions: 20 },
    } as const
    writeFileSync(file, serializePlan({ ...head, server: evil.url, realms: [] }))
    const env = { IAMCTL_TOKEN: secret, IAMCTL_SERVER: good.url }
    expect((await home.run(['apply', '--plan', file], { env })).code).toBe(1)
    expect(evil.received).toEqual([])
  })
})

describe('a realm file', () => {
  it.each(['IAMCTL_TOKEN', 'IAMCTL_PASSWORD', 'IAMCTL_CLIENT_SECRET', 'IAMCTL_MASTER_KEY'])(
    'cannot refer to %s, which would then go wherever the field says',
    async (name) => {
      const { home, good } = await newSetting()
      writeFileSync(
        join(home.folder, 'acme.yaml'),
        `realm: acme\nclients:\n  - clientId: web\n    secret: \${env:${name}}\n`,
      )
      const env = { IAMCTL_TOKEN: 'other', [name]: secret, IAMCTL_SERVER: good.url }
      const { code, stderr } = await home.run(['plan', 'acme.yaml'], { env })
      expect(code).toBe(3)
      expect(stderr).toContain(`${name} holds a credential of iamctl itself`)
      expect(good.received).toEqual([])
    },
  )
})
