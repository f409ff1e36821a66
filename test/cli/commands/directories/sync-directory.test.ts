/** `iamctl sync directory` and `iamctl doctor` against a directory, with the built program. */

import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LdapServer, startLdap } from '../../../directories/ldap-server.ts'
import { base, bindPassword, bindUser, configFor } from '../../../directories/people.ts'
import { dnOf, isUsers, person, stamp } from '../../../directories/sync-world.ts'
import { bundle } from '../../../support/processes/cli.ts'
import { freePort } from '../../../support/processes/ports.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'
import { startWorld } from '../fixture/fixture.ts'

const world = startWorld({ IAMCTL_OUTGOING_ALLOW: '127.0.0.1' })

const uids = Array.from({ length: 20 }, (_, i) => `user-${String(i).padStart(2, '0')}`)

describe('sync directory', () => {
  let ldap: LdapServer
  const provider = '/admin/realms/acme/identity-providers'
  const provide = async (url: string): Promise<void> => {
    const doc = { alias: 'corp', protocol: 'ldap', config: { ...configFor(url), pageSize: 10 } }
    const { admin } = world()
    const isThere = (await admin.send('GET', `${provider}/corp`)).status === 200
    const { status, body } = isThere
      ? await admin.send('PUT', `${provider}/corp`, doc)
      : await admin.send('POST', provider, doc)
    expect(status, JSON.stringify(body)).toBeLessThan(300)
  }
  const remove = (...names: string[]): void => {
    ldap.entries = ldap.entries.filter(({ dn }) => !names.some((name) => dn === dnOf(name)))
  }

  beforeAll(async () => {
    ldap = await startLdap()
    ldap.entries = [
      bindUser,
      { dn: base, attributes: { objectClass: ['organizationalUnit'] } },
      ...uids.map((uid) => person(uid)),
    ]
    await provide(ldap.url)
  })
  afterAll(() => ldap?.close())

  it('--dry-run prints the plan and changes nothing; without it the plan is done', async () => {
    const { run } = world().home
    const dry = await run(['sync', 'directory', 'corp', '--dry-run'])
    expect(dry).toMatchObject({ code: 0 })
    expect(
      dry.stdout.split('\n').filter((line) => /^ {2}\+ user-\d\d \(add\)$/.test(line)),
    ).toHaveLength(20)
    expect(dry.stderr).toContain('dry run: 20 added, 0 updated, 0 removed, 0 failed')
    const { stdout: none } = await run(['get', 'users', '-o', 'json'])
    expect(none).not.toContain('user-00')

    const done = await run(['sync', 'directory', 'corp', '-o', 'json'])
    expect(done.code).toBe(0)
    expect(JSON.parse(done.stdout)).toMatchObject({
      realm: 'acme',
      directory: 'corp',
      added: 20,
      failed: 0,
      mode: 'full',
      dryRun: false,
    })
    const { stdout: all } = await run(['get', 'users', '-o', 'json'])
    expect(all).toContain('user-19')

    remove('user-00')
    ldap.entries = ldap.entries.map((entry) =>
      entry.dn === dnOf('user-01')
        ? person('user-01', { sn: ['Lovelace'], modifyTimestamp: [stamp(9)] })
        : entry,
    )
    const next = await run(['sync', 'directory', 'corp', '--dry-run'])
    expect(next.stdout.split('\n').sort()).toEqual(
      [
        '',
        '  - user-00 (disable)',
        '      enabled: true -> false',
        '  ~ user-01 (update)',
        '      lastName: "Doe" -> "Lovelace"',
      ].sort(),
    )
    expect((await run(['sync', 'directory', 'corp'])).stderr).toContain(
      '0 added, 1 updated, 1 removed, 0 failed',
    )
  })

  it('refuses to remove many users with exit code 7, and names them', async () => {
    const { run } = world().home
    remove('user-10', 'user-11', 'user-12')
    const stopped = await run(['sync', 'directory', 'corp'])
    expect(stopped.code).toBe(7)
    expect(stopped.stderr).toContain('would disable 3 and delete 0 of 20 users, and 2 are allowed')
    for (const name of ['user-10', 'user-11', 'user-12']) expect(stopped.stderr).toContain(name)
    expect(stopped.stderr).toContain('--dry-run --allow-removals N')
    const shown = await run(['sync', 'directory', 'corp', '--dry-run', '--allow-removals', '3'])
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('user-10 (disable)')])
    const wrong = await run(['sync', 'directory', 'corp', '--allow-removals', 'all'])
    expect(wrong).toMatchObject({ code: 1 })
    expect(wrong.stderr).toContain('--allow-removals all is not a number')
    const allowed = await run(['sync', 'directory', 'corp', '--allow-removals', '3'])
    expect(allowed.code).toBe(0)
    expect(allowed.stderr).toContain('3 removed')
  })

  it('ends with exit code 5 where the directory gives no whole answer, and with 1 where there is none', async () => {
    const { run } = world().home
    ldap.faults = { search: () => ({ entries: [], code: 51 }) }
    const away = await run(['sync', 'directory', 'corp'])
    ldap.faults = {}
    expect(away.code).toBe(5)
    expect(away.stderr).toContain('result code 51')
    const unknown = await run(['sync', 'directory', 'nowhere'])
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toContain('there is no directory "nowhere"')
  })

  it('tells on a terminal how far it is and what came of it', async () => {
    const { env, folder } = world().home
    const command = [process.execPath, bundle, 'sync', 'directory', 'corp', '--full']
    // The first page comes when a short sync would be over, the second when the person has seen how far it is.
    const { promise, resolve } = Promise.withResolvers<void>()
    ldap.faults.wait = async (call) => {
      if (isUsers(call)) await (call.cookie === '' ? setTimeout(600) : promise)
    }
    const terminal = onTerminal(command, { env, cwd: folder })
    await terminal.waitFor('10 entries read')
    resolve()
    expect(await terminal.exited).toBe(0)
    ldap.faults = {}
    expect(terminal.screen()).toContain('directory corp: 0 added, 0 updated, 0 removed, 0 failed')
  })

  it('doctor finds a directory that works, and says what is wrong with one that does not', async () => {
    const { run } = world().home
    const examined = async () => {
      const { code, stdout } = await run(['doctor', '-o', 'json'])
      expect(stdout).not.toContain(bindPassword)
      const { findings } = JSON.parse(stdout) as {
        findings: { check: string; status: string; message: string; remedy?: string }[]
      }
      return { code, found: findings.filter(({ check }) => check.startsWith('directory-')) }
    }
    const good = await examined()
    expect(good.found.map(({ check, status }) => `${check} ${status}`)).toEqual([
      'directory-tls warning',
      'directory-bind ok',
      'directory-search ok',
    ])
    await provide(`ldap://127.0.0.1:${await freePort()}`)
    const broken = await examined()
    expect(broken.code).toBe(1)
    expect(broken.found).toEqual([
      expect.objectContaining({
        check: 'directory-connection',
        status: 'error',
        message: expect.stringMatching(/^corp: ldap:\/\/127\.0\.0\.1:\d+ cannot be asked: /),
        remedy: expect.stringContaining('check the address'),
      }),
    ])
  })
})
