/** `iamctl reconcile` with the built program: rounds, git, policy, probes, its lock, and how it ends. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { RoundReport } from '#cli/reconcile/round.ts'
import { type CliProcess, spawnCli } from '../../support/processes/processes.ts'
import { type Estate, newEstate, newRealm } from './fixture/estate.ts'
import { sharedWorld } from './fixture/fixture.ts'
import { startProxy } from './fixture/proxy.ts'

const world = sharedWorld()

const realmFile = (realm: string, description = 'Reads'): string =>
  `realm: ${realm}\nroles:\n  - { name: reader, description: ${description} }\nclients:\n  - { clientId: web, publicClient: true }\n`

const estateOf = (realm: string): Estate =>
  newEstate(world(), {
    'iamctl.yaml': 'source: loop\npaths: [realm.yaml]\n',
    'realm.yaml': realmFile(realm),
  })

const start = ({ folder, env }: Estate, args: string, more: Record<string, string> = {}) =>
  spawnCli(['reconcile', '-o', 'json', ...args.split(' ')], {
    cwd: folder,
    env: { ...env, ...more },
  })

const rounds = ({ stdout }: Pick<CliProcess, 'stdout'>): (RoundReport & { nextInMs: number })[] =>
  stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

const once = async (
  { run }: Estate,
  args = '',
): Promise<{ code?: number; report: RoundReport }> => {
  const { code, stdout } = await run('reconcile --once -o json', ...args.split(' ').filter(Boolean))
  return { ...(code === undefined ? {} : { code }), report: JSON.parse(stdout) }
}

const roleOf = async (realm: string): Promise<string> =>
  (await world().admin.send('GET', `/admin/realms/${realm}/roles/reader`)).body.description

const change = async (realm: string, path: string, body: object): Promise<void> => {
  const { status } = await world().admin.send('PUT', `/admin/realms/${realm}/${path}`, body)
  expect(status).toBe(200)
}

describe('reconcile', () => {
  it('makes a realm what the files say, mends what was changed by hand, and then rests', async () => {
    const realm = newRealm()
    const estate = estateOf(realm)
    expect(await once(estate)).toMatchObject({
      code: 0,
      report: { outcome: 'applied', realms: [{ realm, created: 2, revision: 1 }] },
    })
    expect(await once(estate)).toMatchObject({ code: 0, report: { outcome: 'unchanged' } })
    await change(realm, 'roles/reader', { name: 'reader', description: 'By hand' })
    expect((await once(estate)).report.realms).toMatchObject([{ outcome: 'applied', updated: 1 }])
    expect(await roleOf(realm)).toBe('Reads')
    const { stdout } = await estate.run(`history --realm ${realm} -o json`)
    expect(stdout).toMatch(/"message": ?"reconcile"/)
    expect(existsSync(join(estate.folder, '.iamctl/reconcile.lock'))).toBe(false)
  })

  it('reports what the policy forbids and leaves it', async () => {
    const realm = newRealm()
    const estate = estateOf(realm)
    await once(estate)
    await change(realm, 'roles/reader', { name: 'reader', description: 'By hand' })
    const { body } = await world().admin.send('GET', `/admin/realms/${realm}/clients/web`)
    await change(realm, 'clients/web', { ...body, name: 'By hand' })
    const reported = await once(estate, '--report-only')
    expect(reported).toMatchObject({ code: 7, report: { outcome: 'held' } })
    expect(reported.report.realms[0]?.held).toHaveLength(2)
    expect(await roleOf(realm)).toBe('By hand')
    const some = await once(estate, '--only role')
    expect(some.report.realms).toMatchObject([
      { outcome: 'held', updated: 1, held: [{ kind: 'client', key: 'web', action: 'update' }] },
    ])
    expect(await roleOf(realm)).toBe('Reads')
    expect((await estate.run('reconcile --once --only rolle')).stderr).toContain(
      'did you mean role',
    )

    estate.write({ 'realm.yaml': `realm: ${realm}\nroles: []\nclients: []\n` })
    expect(await once(estate, '--max-deletions 1')).toMatchObject({
      code: 7,
      report: { realms: [{ outcome: 'held', deleted: 0 }] },
    })
    expect(await once(estate, '--prune none')).toMatchObject({ report: { outcome: 'unchanged' } })
    expect(await once(estate)).toMatchObject({ code: 0, report: { realms: [{ deleted: 2 }] } })
  })

  it('follows the branch, answers probes, keeps a second loop out, and stops when it is told', async () => {
    const realm = newRealm()
    const estate = estateOf(realm)
    const { folder } = estate
    const author = {
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@x',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@x',
    }
    const git = (cwd: string, ...args: string[]) => execa('git', args, { cwd, env: author })
    const remote = join(folder, '..', `${realm}.git`)
    onTestFinished(async () => void (await execa('rm', ['-rf', remote, `${remote}.work`])))
    await git(folder, 'init', '-q', '-b', 'main')
    await git(folder, 'add', 'iamctl.yaml', 'realm.yaml')
    await git(folder, 'commit', '-q', '-m', 'first')
    await git(folder, 'clone', '-q', '--bare', '.', remote)
    await git(folder, 'remote', 'add', 'origin', remote)
    await git(folder, 'fetch', '-q')
    await git(folder, 'branch', '-q', '--set-upstream-to=origin/main')

    const loop = start(estate, '--interval 200ms --git-pull --listen 0')
    const [, port] = await loop.waitForLine(/127\.0\.0\.1:(\d+)\/metrics/)
    await loop.waitForLine(/"outcome":"unchanged"/)
    const second = await estate.run('reconcile --once')
    expect(second).toMatchObject({ code: 6 })
    expect(second.stderr).toContain('already reconciled by process')

    await git(folder, 'clone', '-q', remote, `${remote}.work`)
    writeFileSync(`${remote}.work/realm.yaml`, realmFile(realm, 'Pushed'))
    await git(`${remote}.work`, 'commit', '-q', '-a', '-m', 'second')
    await git(`${remote}.work`, 'push', '-q')
    const { stdout: commit } = await git(`${remote}.work`, 'rev-parse', 'HEAD')
    await loop.waitForLine(new RegExp(`"outcome":"applied","commit":"${commit}"`))
    expect(await roleOf(realm)).toBe('Pushed')

    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      return { status: answer.status, text: await answer.text() }
    }
    expect((await ask('/healthz')).status).toBe(200)
    expect((await ask('/readyz')).status).toBe(200)
    expect((await ask('/')).status).toBe(404)
    const { text } = await ask('/metrics')
    expect(text).toMatch(/iamctl_reconcile_rounds_total\{outcome="applied"\} [12]\n/)
    expect(text).toContain(`iamctl_reconcile_realm_revision{realm="${realm}"} 2`)

    loop.kill('SIGTERM')
    expect(await loop.exited).toEqual({ code: 0, signal: null })
    expect(existsSync(join(folder, '.iamctl/reconcile.lock'))).toBe(false)
  })

  it('changes nothing while the files are wrong, says so every round, and goes on when they are mended', async () => {
    const realm = newRealm()
    const estate = estateOf(realm)
    estate.write({ 'realm.yaml': `realm: ${realm}\nroles: [{ nam: reader }]\n` })
    expect(await once(estate)).toMatchObject({ code: 3, report: { outcome: 'invalid' } })
    const loop = start(estate, '--interval 200ms')
    await loop.waitForLine(/"round":2.*"outcome":"invalid"/)
    estate.write({ 'realm.yaml': realmFile(realm) })
    await loop.waitForLine(/"outcome":"applied"/)
    loop.kill('SIGINT')
    expect((await loop.exited).code).toBe(0)
  })

  it('waits longer with every failure, and tells why a round failed', async () => {
    const estate = estateOf(newRealm())
    const nowhere = { IAMCTL_SERVER: 'http://127.0.0.1:9' }
    const loop = start(estate, '--interval 200ms', nowhere)
    await loop.waitForLine(/"round":2/)
    loop.kill()
    expect((await loop.exited).code).toBe(0)
    const [first, second] = rounds(loop)
    expect(first).toMatchObject({
      outcome: 'failed',
      realms: [{ error: { code: 'unreachable.refused', exitCode: 5 } }],
    })
    // The fields that docs/output.md promises of every error.
    expect(Object.keys(first?.realms[0]?.error ?? {}).sort()).toEqual(
      'code details diagnostics errors exitCode hint message requestId status'.split(' '),
    )
    for (const [report, most] of [
      [first, 2000],
      [second, 4000],
    ] as const) {
      expect(report?.nextInMs).toBeGreaterThanOrEqual(most / 2)
      expect(report?.nextInMs).toBeLessThanOrEqual(most)
    }
    const pulled = await estate.run('reconcile --once --git-pull')
    expect(pulled).toMatchObject({ code: 1 })
    expect(pulled.stdout).toContain('git pull failed')
  })

  it('finishes the apply that has begun when it is told to stop, and begins no other', async () => {
    const realm = newRealm()
    const estate = estateOf(realm)
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const proxy = await startProxy(world().server.url, async ({ url }) => {
      if (!url?.endsWith('/changesets')) return
      arrive()
      await released
    })
    const loop = start(estate, '--interval 200ms', { IAMCTL_SERVER: proxy.url })
    await arrived
    loop.kill('SIGTERM')
    await loop.waitForLine(/stopping/)
    release()
    expect((await loop.exited).code).toBe(0)
    expect(rounds(loop)).toMatchObject([{ outcome: 'applied', nextInMs: null }])
    expect(await roleOf(realm)).toBe('Reads')
  })
})
