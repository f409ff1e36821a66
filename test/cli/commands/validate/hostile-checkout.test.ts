/** A checkout with hostile content: its links, names, git settings and secret references stay within the checkout. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Home, newHome } from '../../../support/processes/cli.ts'
import { startRecordingServer } from '../fixture/recording-server.ts'

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'iamctl-hostile-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

let home: Home
let outside: string
let received: string[]
beforeEach(async () => {
  const server = await startRecordingServer(({ url: path = '' }, answer) => {
    const exported = { formatVersion: 1, realm: 'acme', revision: 1, meta: { documents: {} } }
    const isExport = path.includes('/export')
    answer.writeHead(isExport ? 200 : 404, { 'content-type': 'application/json' })
    answer.end(JSON.stringify(isExport ? { ...exported, roles: [{ name: 'a' }] } : {}))
  })
  received = server.received
  home = newHome({ IAMCTL_SERVER: server.url, IAMCTL_TOKEN: 'token', IAMCTL_REALM: 'acme' })
  onTestFinished(home.remove)
  outside = newFolder()
  writeFileSync(join(outside, 'kept.txt'), 'kept')
})

const expectUntouched = (): void => {
  expect(readdirSync(outside)).toEqual(['kept.txt'])
  expect(readFileSync(join(outside, 'kept.txt'), 'utf8')).toBe('kept')
}

describe('export', () => {
  const forms = [
    ['one file', 'acme.yaml', []],
    ['a backup', 'acme.json', ['-o', 'json']],
    ['--split', 'acme/roles.yaml', ['--split']],
  ] as const

  it.each(forms)('of %s does not write through a link to a file', async (_, name, flags) => {
    const out = join(home.folder, 'out')
    mkdirSync(join(out, name, '..'), { recursive: true })
    symlinkSync(join(outside, 'kept.txt'), join(out, name))
    for (const more of [[], ['--overwrite']]) {
      const { code, stderr } = await home.run(['export', '--out', out, ...flags, ...more])
      expect(code).toBe(1)
      expect(stderr).toMatch(/exists|is a link and is not followed/)
    }
    expectUntouched()
  })

  it('does not write through a link to a folder', async () => {
    const out = join(home.folder, 'out')
    mkdirSync(out)
    symlinkSync(outside, join(out, 'acme'))
    const { code, stderr } = await home.run(['export', '--out', out, '--split', '--overwrite'])
    expect(code).toBe(1)
    expect(stderr).toContain('is a link that leads elsewhere')
    expectUntouched()
  })

  it('writes where the folder that was named is itself a link', async () => {
    const real = newFolder()
    symlinkSync(real, join(home.folder, 'out'))
    expect((await home.run(['export', '--out', 'out', '--split'])).code).toBe(0)
    expect(readdirSync(join(real, 'acme'))).toEqual(['roles.yaml'])
  })

  it.each(['../escaped', '../../escaped', '/escaped', '..', 'a/../../escaped'])(
    'into a realm called %s stays in its folder',
    async (realm) => {
      writeFileSync(
        join(home.folder, 'iamctl.yaml'),
        JSON.stringify({ contexts: { c: { realm } }, defaultContext: 'c' }),
      )
      const out = join(home.folder, 'a', 'out')
      for (const flags of [[], ['--split'], ['-o', 'json']])
        await home.run(['export', '--out', out, ...flags], { env: { IAMCTL_REALM: '' } })
      const found = readdirSync(home.folder, { recursive: true }).map(String)
      expect(
        found.filter((name) => /escaped|roles/.test(name) && !name.startsWith('a/out')),
      ).toEqual([])
      expect(existsSync('/escaped')).toBe(false)
    },
  )
})

describe('other files that are written', () => {
  it('plan --out does not write through a link', async () => {
    writeFileSync(join(home.folder, 'a.yaml'), 'realm: acme\n')
    symlinkSync(join(outside, 'kept.txt'), join(home.folder, 'saved.plan'))
    await home.run(['plan', 'a.yaml', '--out', 'saved.plan'])
    expectUntouched()
  })

  it('init does not write through a link', async () => {
    mkdirSync(join(home.folder, 'new'))
    symlinkSync(outside, join(home.folder, 'new', 'realms'))
    expect((await home.run(['init', 'new', '--realm', 'shop'])).code).toBe(1)
    expectUntouched()
  })
})

describe('secrets', () => {
  const realm = (reference: string): string =>
    `realm: acme\nclients:\n  - { clientId: web, secret: "\${${reference}}" }\n`

  it.each([
    'file:linked.txt',
    'file:folder/kept.txt',
    'sops:linked.txt#a',
    'sops:folder/kept.txt#a',
    'file:../kept.txt',
    'sops:../kept.txt#a',
    'file:/etc/hostname',
    'sops:/etc/hostname#a',
  ])('of %s do not lead out of the estate', async (reference) => {
    writeFileSync(join(home.folder, 'iamctl.yaml'), '')
    symlinkSync(join(outside, 'kept.txt'), join(home.folder, 'linked.txt'))
    symlinkSync(outside, join(home.folder, 'folder'))
    writeFileSync(join(home.folder, 'a.yaml'), realm(reference))
    const { code, stderr } = await home.run(['plan', 'a.yaml'])
    expect(code).toBe(3)
    expect(stderr).toMatch(/outside of the estate|link out of the estate/)
    expect(received).toEqual([])
  })

  it('sops gets a name that begins with a dash as a file, and no credential of ours', async () => {
    const bin = join(home.folder, 'bin')
    mkdirSync(bin)
    const log = join(home.folder, 'sops.log')
    writeFileSync(
      join(bin, 'sops'),
      `#!/bin/sh\n{ echo "$@"; env; } > '${log}'\necho '{"a":"x"}'\n`,
    )
    chmodSync(join(bin, 'sops'), 0o755)
    writeFileSync(join(home.folder, 'iamctl.yaml'), '')
    writeFileSync(join(home.folder, '--set=x.yaml'), 'a: 1')
    writeFileSync(join(home.folder, 'a.yaml'), realm('sops:--set=x.yaml#a'))
    const env = { PATH: `${bin}:${process.env['PATH']}`, IAMCTL_PASSWORD: 'sesame' }
    await home.run(['plan', 'a.yaml'], { env })
    const told = readFileSync(log, 'utf8')
    expect(told).toMatch(/^--decrypt --output-type json -- --set=x\.yaml$/m)
    expect(told).not.toMatch(/IAMCTL_TOKEN|IAMCTL_PASSWORD/)
  })
})

describe('git', () => {
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@a.example', ...args], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'] ?? '', HOME: home.folder, GIT_CONFIG_NOSYSTEM: '1' },
    })

  const commit = (folder: string, files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(folder, name, '..'), { recursive: true })
      writeFileSync(join(folder, name), text, { mode: 0o755 })
    }
    git(folder, 'add', '-A')
    git(folder, 'commit', '-qm', 'x')
  }

  /** A checkout of a repository, which is one commit behind. */
  const checkout = (): { origin: string; estate: string } => {
    const origin = newFolder()
    const estate = join(newFolder(), 'estate')
    git(origin, 'init', '-q', '-b', 'main')
    commit(origin, { 'iamctl.yaml': 'source: s\npaths: [a.yaml]\n', 'a.yaml': 'realm: acme\n' })
    git(origin, 'clone', '-q', origin, estate)
    return { origin, estate }
  }

  const mark = (): string => join(outside, 'executed')
  const script = (): string => `#!/bin/sh\ntouch '${mark()}'\ncat\n`

  const reconcile = (cwd: string, env: Readonly<Record<string, string>> = {}) =>
    home.run(['reconcile', '--once', '--git-pull', '-o', 'json'], { cwd, env })

  it('pull brings what was committed', async () => {
    const { origin, estate } = checkout()
    commit(origin, { 'b.txt': 'x' })
    await reconcile(estate)
    expect(existsSync(join(estate, 'b.txt'))).toBe(true)
  })

  it.each(['post-merge', 'post-checkout', 'reference-transaction', 'pre-merge-commit'])(
    'pull runs no %s hook of the checkout',
    async (hook) => {
      const { origin, estate } = checkout()
      git(estate, 'config', 'core.hooksPath', '.hooks')
      mkdirSync(join(estate, '.hooks'))
      writeFileSync(join(estate, '.hooks', hook), script(), { mode: 0o755 })
      commit(origin, { 'b.txt': 'x' })
      await reconcile(estate)
      expect(existsSync(join(estate, 'b.txt'))).toBe(true)
      expect(existsSync(mark())).toBe(false)
    },
  )

  it('neither pull nor apply runs a monitor of files', async () => {
    const { origin, estate } = checkout()
    writeFileSync(join(estate, 'monitor'), script(), { mode: 0o755 })
    git(estate, 'config', 'core.fsmonitor', './monitor')
    rmSync(mark(), { force: true })
    commit(origin, { 'b.txt': 'x' })
    await reconcile(estate)
    await home.run(['apply', '--auto-approve'], { cwd: estate })
    expect(existsSync(mark())).toBe(false)
  })

  it('a folder that looks like a bare repository is none', async () => {
    const { estate } = checkout()
    const files = {
      HEAD: 'ref: refs/heads/main\n',
      config: `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "."\n\tfsmonitor = "touch '${mark()}';:"\n`,
      'refs/heads/.keep': '',
      'objects/.keep': '',
    }
    const inner = join(estate, 'inner')
    for (const [name, text] of Object.entries({
      ...files,
      'a.yaml': 'realm: acme\n',
      'iamctl.yaml': '',
    })) {
      mkdirSync(join(inner, name, '..'), { recursive: true })
      writeFileSync(join(inner, name), text)
    }
    await home.run(['apply', 'a.yaml', '--auto-approve'], { cwd: inner })
    await reconcile(inner)
    expect(existsSync(mark())).toBe(false)
  })

  it.each(['ext::sh -c touch% %s', '--upload-pack=touch %s', '-oProxyCommand=touch %s'])(
    'a remote %s runs nothing',
    async (remote) => {
      const { estate } = checkout()
      git(estate, 'config', 'remote.origin.url', remote.replace('%s', mark()))
      const { code } = await reconcile(estate, { GIT_ALLOW_PROTOCOL: '' })
      expect(code).not.toBe(0)
      expect(existsSync(mark())).toBe(false)
    },
  )

  it('a branch that is called like an option is none', async () => {
    const { estate } = checkout()
    git(estate, 'config', 'branch.main.merge', `--upload-pack=touch ${mark()}`)
    await reconcile(estate)
    expect(existsSync(mark())).toBe(false)
  })

  it('what git runs gets no credential of ours', async () => {
    const { origin, estate } = checkout()
    commit(origin, { 'b.txt': 'x' })
    const log = join(home.folder, 'ssh.log')
    writeFileSync(join(home.folder, 'ssh'), `#!/bin/sh\nenv > '${log}'\n`, { mode: 0o755 })
    git(estate, 'config', 'remote.origin.url', 'ssh://host.example/x')
    await reconcile(estate, { GIT_SSH_COMMAND: join(home.folder, 'ssh') })
    expect(readFileSync(log, 'utf8')).not.toContain('IAMCTL_TOKEN')
  })
})
