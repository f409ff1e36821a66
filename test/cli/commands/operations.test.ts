/** Commands of operators: passwords and locks, invitations, sessions, the audit trail, signing keys. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { askUrl } from '../../saml/fixture.ts'
import { signIn } from '../../support/processes/browserless.ts'
import { bundle, type Cli } from '../../support/processes/cli.ts'
import { onTerminal } from '../../support/processes/terminal.ts'
import { startWorld } from './fixture/fixture.ts'

const world = startWorld()

const canSignIn = (password: string): Promise<boolean> =>
  signIn(world().server.url, 'acme', 'alice', password).then(
    () => true,
    () => false,
  )

describe('users', () => {
  it('get a new password from a file or stdin, never from an argument', async () => {
    const { run, folder } = world().home
    const file = join(folder, 'new')
    const [next, last] = ['quite another long password 8', 'and yet another one, also long 9']
    writeFileSync(file, `${next}\n`)
    const set = await run(['users', 'set-password', 'alice', '--new-password-file', file])
    expect(set).toMatchObject({ code: 0, stdout: '' })
    expect(set.stderr).toContain('alice has a new password')
    expect(await canSignIn(next)).toBe(true)
    const args = ['users', 'set-password', 'alice@acme.example', '--new-password-file', '-']
    const back = await run([...args, '-o', 'json'], { input: `${last}\n` })
    expect(JSON.parse(back.stdout)).toMatchObject({ username: 'alice', temporary: false })
    expect(await canSignIn(last)).toBe(true)
    for (const given of [[next], [`--password=${next}`], ['--password', next]]) {
      const refused = await run(['users', 'set-password', 'alice', ...given])
      expect(refused.code).toBe(1)
      expect(refused.stderr).not.toContain(next)
    }
  })

  it('get a temporary one, which they must change', async () => {
    const { run } = world().home
    const args = ['users', 'set-password', 'alice', '--temporary', '--new-password-file', '-']
    expect((await run(args, { input: 'a temporary password 99' })).code).toBe(0)
    const { stdout } = await run(['get', 'user', 'alice', '-o', 'json'])
    expect(JSON.parse(stdout).requiredActions).toContain('UPDATE_PASSWORD')
  })

  it('at a terminal is typed twice, and not shown', async () => {
    const { env, folder } = world().home
    const command = [process.execPath, bundle, 'users', 'set-password', 'alice']
    const typed = async (first: string, second: string): Promise<[number | null, string]> => {
      const terminal = onTerminal(command, { env, cwd: folder })
      await terminal.waitFor('New password of alice: ')
      terminal.type(`${first}\r`)
      await terminal.waitFor('Repeat the new password: ')
      terminal.type(`${second}\r`)
      return [await terminal.exited, terminal.screen()]
    }
    const [refused, why] = await typed('hidden-one-1234567', 'hidden-two-1234567')
    expect(refused).toBe(1)
    expect(why).toContain('differ')
    const [done, screen] = await typed('hidden-one-1234567', 'hidden-one-1234567')
    expect(done).toBe(0)
    expect(why + screen).not.toContain('hidden')
    expect(await canSignIn('hidden-one-1234567')).toBe(true)
  })

  it('keep theirs where the new one is refused, with the reasons and without the password', async () => {
    const { run } = world().home
    const args = ['users', 'set-password', 'alice', '--new-password-file', '-']
    const { code, stderr } = await run(args, { input: 'sesame' })
    expect(code).toBe(1)
    expect(stderr).toContain('newPassword')
    expect(stderr).not.toContain('sesame')
  })

  it('are not asked about where there is no terminal', async () => {
    const { run } = world().home
    const { code, stderr } = await run(['users', 'set-password', 'alice'])
    expect(code).toBe(1)
    expect(stderr).toContain('--new-password-file')
    const nobody = await run(['users', 'lock', 'nobody'])
    expect(nobody.code).toBe(1)
    expect(nobody.stderr).toContain('there is no user "nobody" in realm acme')
  })

  it('are locked and unlocked, by name or email address', async () => {
    const { run } = world().home
    const next = 'the password of a locked user 6'
    const reset = ['users', 'set-password', 'alice', '--new-password-file', '-']
    expect((await run(reset, { input: next })).code).toBe(0)
    expect((await run(['users', 'lock', 'alice'])).stderr).toContain('alice is locked')
    expect(await canSignIn(next)).toBe(false)
    expect((await run(['users', 'lock', 'alice'])).stderr).toContain('locked already')
    const unlocked = await run(['users', 'unlock', 'ALICE@acme.example', '-o', 'json'])
    expect(JSON.parse(unlocked.stdout)).toMatchObject({ locked: false, changed: true })
    expect(await canSignIn(next)).toBe(true)
  })
})

describe('users who are imported', () => {
  const hash = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy'
  const row = (username: string, more: object = {}) => JSON.stringify({ username, ...more })
  const count = async (): Promise<number> => {
    const { stdout } = await world().home.run(['get', 'users', '-o', 'json'])
    return JSON.parse(stdout).length
  }
  const file = (name: string, lines: readonly string[]): string => {
    const path = join(world().home.folder, name)
    writeFileSync(path, `${lines.join('\n')}\n`)
    return path
  }

  it('come from a file or a pipe, all of them, and can be counted before', async () => {
    const { run } = world().home
    const before = await count()
    const lines = ['', row('ada', { email: 'ada@acme.example' }), '', row('bob'), '']
    const path = file('users.ndjson', lines)
    const dry = await run(['users', 'import', path, '--dry-run', '-o', 'json'])
    expect(JSON.parse(dry.stdout)).toMatchObject({ realm: 'acme', dryRun: true, added: 2 })
    expect(await count()).toBe(before)
    const done = await run(['users', 'import', path])
    expect(done).toMatchObject({ code: 0, stdout: '' })
    expect(done.stderr).toContain('realm acme: added 2, skipped 0, overwritten 0')
    const credentials = [{ type: 'password', value: hash }]
    const piped = await run(['users', 'import', '-', '--if-exists', 'skip', '-o', 'json'], {
      input: JSON.stringify([{ username: 'ada' }, { username: 'cleo', credentials }]),
    })
    expect(JSON.parse(piped.stdout)).toMatchObject({ added: 1, skipped: 1 })
    expect(await count()).toBe(before + 3)
  })

  it('are all left out where a line is wrong, which is named by its true number', async () => {
    const { run } = world().home
    const before = await count()
    const broken = file('broken.ndjson', ['', row('dan'), '', `{"value":"${hash}"`, row('eve')])
    const unread = await run(['users', 'import', broken])
    expect([unread.code, unread.stdout]).toEqual([3, ''])
    expect(unread.stderr).toContain(`${broken}:4:1: error user-row: this is not a user as JSON`)
    const invalid = file('invalid.ndjson', [
      row('dan'),
      '',
      '',
      row('eve', { enabled: 'yes' }),
      row('', { credentials: [{ type: 'password', value: 'plain text' }] }),
    ])
    const refused = await run(['users', 'import', invalid])
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain(`${invalid}:4:1: error`)
    expect(refused.stderr).toContain(`${invalid}:5:1: error`)
    expect(refused.stderr).not.toMatch(/plain text|\/line\//)
    const taken = await run(['users', 'import', '-'], { input: `\n${row('fay')}\n${row('ADA')}\n` })
    expect(taken.code).toBe(6)
    expect(taken.stderr).toContain('stdin:3:1: error duplicate: username: exists already')
    expect(unread.stderr + refused.stderr + taken.stderr).not.toContain(hash)
    const missing = await run(['users', 'import', 'nowhere.ndjson'])
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('cannot be read')])
    expect((await run(['users', 'import', file('none', [])])).code).toBe(3)
    expect(await count()).toBe(before)
  })

  it('are counted on a terminal while they are sent', async () => {
    const { env, folder } = world().home
    const path = file(
      'many.ndjson',
      Array.from({ length: 3000 }, (_, n) => row(`many-${n}`)),
    )
    const command = [process.execPath, bundle, 'users', 'import', path, '--dry-run']
    const terminal = onTerminal(command, { env, cwd: folder })
    expect(await terminal.exited).toBe(0)
    expect(terminal.screen()).toContain('Importing 3000 users into acme')
    expect(terminal.screen()).toContain('would be added 3000, skipped 0, overwritten 0')
  })
})

describe('invitations', () => {
  it('are sent, listed and revoked by the alias of the organization and the address', async () => {
    const { admin, home } = world()
    const { run } = home
    const acme = '/admin/realms/acme'
    await admin.send('POST', `${acme}/organizations`, { alias: 'globex' })
    await admin.send('PUT', `${acme}/messaging/providers`, {
      channel: 'EMAIL',
      driver: 'smtp',
      fromAddress: 'iam@acme.example',
      config: { host: 'mail.invalid', port: 25 },
    })
    const address = 'ines@globex.example'
    const create = ['invitations', 'create', 'globex', address]
    const made = await run([...create, '--days', '2', '--locale', 'nl'])
    expect(made).toMatchObject({ code: 0, stdout: '' })
    expect(made.stderr).toContain(`${address} is invited into globex until 20`)
    const listed = await run(['invitations', 'list', 'globex', '-o', 'json'])
    const [{ id, email, createdAt, expiresAt }] = JSON.parse(listed.stdout)
    expect([email, expiresAt - createdAt]).toEqual([address, 2 * 24 * 3_600_000])
    expect((await run(['invitations', 'list', 'globex'])).stdout).toContain(`${id}  ${address}`)
    const revoke = ['invitations', 'revoke', 'globex', address.toUpperCase()]
    expect((await run(revoke)).stderr).toContain(`the invitation of ${address} is revoked`)
    const again = await run(revoke)
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('iamctl invitations list globex --realm acme')
  })
})

describe('sessions', () => {
  it('are listed and revoked, one or all of a user', async () => {
    const { run } = world().home
    const list = async (): Promise<{ id: string; username: string }[]> =>
      JSON.parse((await run(['sessions', 'list', '--user', 'alice', '-o', 'json'])).stdout)
    const password = 'alice and her sessions 5'
    await run(['users', 'set-password', 'alice', '--new-password-file', '-'], { input: password })
    for (let i = 0; i < 3; i += 1) expect(await canSignIn(password)).toBe(true)
    const [first, ...others] = await list()
    expect(others).toHaveLength(2)
    expect((await run(['sessions', 'list'])).stdout).toMatch(/^SESSION +USER +ADDRESS/)
    expect((await run(['sessions', 'revoke', first?.id ?? ''])).code).toBe(0)
    expect(await list()).toHaveLength(2)
    expect((await run(['sessions', 'revoke', first?.id ?? ''])).code).toBe(1)
    expect((await run(['sessions', 'revoke', '--user', 'alice'])).stderr).toContain(
      '--auto-approve',
    )
    const rest = await run([
      'sessions',
      'revoke',
      '--user',
      'alice',
      '--auto-approve',
      '-o',
      'json',
    ])
    expect(JSON.parse(rest.stdout).revoked).toHaveLength(2)
    expect(await list()).toEqual([])
    expect((await run(['sessions', 'revoke'])).code).toBe(1)
  })

  it('name the SAML service providers that they led to', async () => {
    const { run } = world().home
    const { url } = world().server
    const entityId = 'https://sp.example/metadata'
    const provider = { entityId, assertionConsumerServiceUrl: 'https://sp.example/acs' }
    const { status } = await world().admin.send('POST', '/admin/realms/acme/saml-clients', provider)
    expect(status).toBe(201)
    const password = 'alice and her applications 6'
    await run(['users', 'set-password', 'alice', '--new-password-file', '-'], { input: password })
    const alice = await signIn(url, 'acme', 'alice', password)
    const asked = await alice.send('GET', askUrl({ issuer: `${url}/realms/acme` }))
    expect(asked.body).toContain('SAMLResponse')
    const listed = await run(['sessions', 'list', '--user', 'alice', '-o', 'json'])
    expect(Object.values(JSON.parse(listed.stdout)[0].clients)).toEqual([entityId])
    expect((await run(['sessions', 'list', '--user', 'alice'])).stdout).toContain(entityId)
  })
})

describe('events', () => {
  it('are a table with names, newest last, and one JSON object a line', async () => {
    const { run } = world().home
    await run(['users', 'lock', 'alice'])
    await run(['users', 'unlock', 'alice'])
    const table = await run(['events', '--limit', '4'])
    const lines = table.stdout.trim().split('\n')
    expect(lines).toHaveLength(5)
    expect(lines.at(-1)).toMatch(/USER_UNLOCKED +SUCCESS +admin \(master\)/)
    const json = await run(['events', '--limit', '4', '-o', 'json'])
    const events = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.map(({ type }) => type)).toEqual(
      lines.slice(1).map((line) => line.split(/ +/)[1]),
    )
    const times = events.map(({ ts }) => Date.parse(ts))
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  it('show whom and what they are about by name, and before and after of a change', async () => {
    const { home, admin } = world()
    const { run } = home
    const base = '/admin/realms/acme/clients'
    const { body } = await admin.send('POST', base, { clientId: 'seen', name: 'Old' })
    const { secret, ...fields } = body
    await admin.send('PUT', `${base}/${body.id}`, { ...fields, name: 'New' })
    const { stdout } = await run(['events', '--limit', '1'])
    expect(stdout).toMatch(
      /ADMIN_UPDATE +SUCCESS +admin \(master\) .* clients\/seen +name: "Old" -> "New"/,
    )
    await run(['users', 'lock', 'alice'])
    const locked = await run(['events', '--limit', '1'])
    expect(locked.stdout).toMatch(/USER_LOCKED .* users\/alice/)
    await run(['users', 'unlock', 'alice'])
    expect(stdout + locked.stdout).not.toContain(secret)
  })

  it('are filtered by type, actor, outcome, category and time', async () => {
    const { run } = world().home
    await canSignIn('wrong')
    const found = async (...args: string[]): Promise<Record<string, string>[]> => {
      const { stdout } = await run(['events', '-o', 'json', ...args])
      return stdout
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    }
    const failures = await found('--type', 'login-failure', '--outcome', 'FAILURE', '--from', '1h')
    expect(failures.length).toBeGreaterThan(0)
    expect(new Set(failures.map(({ type }) => type))).toEqual(new Set(['LOGIN_FAILURE']))
    const admin = await found('--category', 'admin', '--limit', 'all')
    expect(new Set(admin.map(({ category }) => category))).toEqual(new Set(['ADMIN']))
    const alice = JSON.parse((await run(['get', 'user', 'alice', '-o', 'json'])).stdout)
    const hers = await found('--actor', 'alice')
    expect(new Set(hers.map(({ actor }) => actor))).toEqual(new Set([alice.userId]))
    expect(await found('--to', '2020-01-01')).toEqual([])
  })

  it('are asked for in words that exist', async () => {
    const { run } = world().home
    const type = await run(['events', '--type', 'LOGIN_FAILED'])
    expect(type.code).toBe(1)
    expect(type.stderr).toContain('did you mean LOGIN_FAILURE?')
    const time = await run(['events', '--from', 'yesterday'])
    expect(time.stderr).toContain('7d')
    expect((await run(['events', '--limit', '0'])).code).toBe(1)
  })
})

describe('keys', () => {
  interface Key {
    readonly keyId: string
    readonly status: string
    readonly signsFrom: number | null
  }
  /** Without those that are only prepared: no rotation has chosen them. */
  const chosen = (text: string): Key[] =>
    (JSON.parse(text) as Key[]).filter(
      ({ status, signsFrom }) => status !== 'NEXT' || signsFrom !== null,
    )
  const keysOf = async (run: Cli): Promise<Key[]> =>
    chosen((await run(['keys', 'list', '-o', 'json'])).stdout)

  it('rotate after telling what happens to tokens and the SAML certificate', async () => {
    const { run } = world().home
    const [before] = await keysOf(run)
    const asked = await run(['keys', 'rotate'])
    expect(asked.code).toBe(1)
    expect(asked.stderr).toMatch(/Tokens .*SAML .*--auto-approve/s)
    expect(await keysOf(run)).toHaveLength(1)
    const rotated = await run(['keys', 'rotate', '--auto-approve', '-o', 'json'])
    const key = JSON.parse(rotated.stdout) as Key
    expect(key.status).toBe('ACTIVE')
    const keys = await keysOf(run)
    expect(keys.map(({ keyId, status }) => [keyId, status])).toEqual([
      [key.keyId, 'ACTIVE'],
      [before?.keyId, 'PASSIVE'],
    ])
    expect((await run(['keys', 'list'])).stdout).toMatch(/ signs .*\n.* verifies /s)
  })

  it('are kept while their tokens may be valid: exit code 7, unless --force', async () => {
    const { run } = world().home
    const again = await run(['keys', 'rotate', '--auto-approve'])
    expect(again.stderr).toMatch(/signs from .* on: it has to be published first/)
    expect((await run(['keys', 'list'])).stdout).toMatch(
      / signs .*\n.* will sign .*\n.* verifies /s,
    )
    const early = await run([
      'keys',
      'delete',
      (await keysOf(run))[0]?.keyId ?? '',
      '--force',
      '--auto-approve',
    ])
    expect([early.code, early.stderr]).toEqual([7, expect.stringMatching(/signs until .*--fresh/s)])
    expect((await run(['keys', 'rotate', '--fresh', '--auto-approve'])).stderr).toContain(
      'signs now',
    )
    const [active, retained] = await keysOf(run)
    const signing = await run(['keys', 'delete', active?.keyId ?? '', '--auto-approve'])
    expect(signing.code).toBe(7)
    expect(signing.stderr).toContain('iamctl keys rotate')
    const needed = await run(['keys', 'delete', retained?.keyId ?? '', '--auto-approve'])
    expect(needed.code).toBe(7)
    expect(needed.stderr).toMatch(/may be valid until .*--force/s)
    const pruned = await run(['keys', 'prune', '--auto-approve', '-o', 'json'])
    expect(pruned.code).toBe(0)
    const { deleted, kept } = JSON.parse(pruned.stdout)
    expect(deleted).toEqual([])
    expect(kept[0].validUntil).toBeGreaterThan(Date.now())
    const forced = await run(['keys', 'delete', retained?.keyId ?? '', '--force', '--auto-approve'])
    expect(forced.code).toBe(0)
    expect((await keysOf(run)).map(({ keyId }) => keyId)).not.toContain(retained?.keyId)
  })

  it('of a client are its own, from its first rotation on', async () => {
    const { run } = world().home
    await world().admin.send('POST', '/admin/realms/acme/clients', { clientId: 'bank' })
    const ofClient = ['--client', 'bank']
    const list = async (): Promise<Key[]> =>
      chosen((await run(['keys', 'list', '-o', 'json', ...ofClient])).stdout)
    const before = await keysOf(run)
    expect(await list()).toEqual([])
    const asked = await run(['keys', 'rotate', ...ofClient])
    expect([asked.code, asked.stderr]).toEqual([
      1,
      expect.stringMatching(/client's own, will sign what is issued to bank/),
    ])
    for (const more of [[], ['--fresh']])
      expect((await run(['keys', 'rotate', '--auto-approve', ...ofClient, ...more])).code).toBe(0)
    const [active, retained] = await list()
    expect([active?.status, retained?.status]).toEqual(['ACTIVE', 'PASSIVE'])
    const remove = ['keys', 'delete', retained?.keyId ?? '', '--force', '--auto-approve']
    expect((await run(remove)).code).not.toBe(0)
    expect((await run([...remove, ...ofClient])).code).toBe(0)
    expect(await list()).toHaveLength(1)
    expect(await keysOf(run)).toEqual(before)
    expect((await run(['keys', 'list', '--client', 'nobody'])).stderr).toContain('nobody')
  })
})
