/** The built program as pipelines use it: parts of a plan, pruning, guards, outputs for programs, and plans in files. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newEstate, newRealm } from '../../cli/commands/fixture/estate.ts'
import { startWorld } from '../../cli/commands/fixture/fixture.ts'
import { bundle } from '../../support/processes/cli.ts'
import { onTerminal } from '../../support/processes/terminal.ts'

const world = startWorld()

const statusOf = async (path: string): Promise<number> =>
  (await world().admin.send('GET', `/admin/realms/${path}`)).status

const lines = (text: string): unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

const file = (realm: string, names: readonly string[]): string =>
  `realm: ${realm}
roles:
${names.map((name) => `  - { name: ${name}, composites: [] }`).join('\n')}
groups: [{ name: Staff, roles: [${names[0]}] }]
clients: [{ clientId: web, publicClient: true }]
`

describe('--target', () => {
  it('applies the document and what it needs, leaves the rest, and refuses one that there is not', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': file(realm, ['a', 'b']) })
    const planned = await run('plan realm.yaml --target group/Staff -o json')
    const [one] = JSON.parse(planned.stdout).realms
    expect(one.changes.map(({ key }: { key: string }) => key)).toEqual(['a', '/Staff'])
    expect(one.warnings).toMatchObject([{ code: 'targeted' }])
    expect((await run('apply realm.yaml --target group/Staff --auto-approve')).code).toBe(0)
    expect(await statusOf(`${realm}/groups/%2FStaff`)).toBe(200)
    expect(await statusOf(`${realm}/clients/web`)).toBe(404)
    const unknown = await run('apply realm.yaml --target client/wep --auto-approve')
    expect(unknown).toMatchObject({ code: 3 })
    expect(unknown.stdout + unknown.stderr).toContain('there is no client "wep"')
    expect(await run('plan realm.yaml --target klient/web')).toMatchObject({ code: 1 })
  })
})

describe('--prune', () => {
  it('all destroys also what was made by hand, owned does not, and none destroys nothing', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': file(realm, ['a', 'b']) })
    await run('apply realm.yaml --auto-approve')
    await world().admin.send('POST', `/admin/realms/${realm}/roles`, { name: 'by-hand' })
    write({ 'realm.yaml': file(realm, ['a']) })
    const summaryOf = async (prune: string) =>
      JSON.parse((await run(`plan realm.yaml --prune ${prune} -o json`)).stdout)
    expect(await summaryOf('none')).toMatchObject({ hasChanges: false, summary: { destroy: 0 } })
    const owned = await summaryOf('owned')
    expect(owned).toMatchObject({ hasChanges: true, summary: { destroy: 1 } })
    expect(owned.realms[0].unmanaged).toEqual([{ kind: 'role', key: 'by-hand', owner: null }])
    expect(await summaryOf('all')).toMatchObject({ summary: { destroy: 2 } })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    expect(await statusOf(`${realm}/roles/by-hand`)).toBe(200)
    expect((await run('apply realm.yaml --auto-approve --prune all')).code).toBe(0)
    expect(await statusOf(`${realm}/roles/by-hand`)).toBe(404)
    expect(await statusOf(`${realm}/roles/admin`)).toBe(200)
  })
})

describe('the guards of an estate', () => {
  it('hold for its applies, and a flag raises the limit for one of them', async () => {
    const realm = newRealm()
    const estate = 'source: guarded\npaths: [realm.yaml]\nguards: { maxDeletions: 1 }\n'
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': estate,
      'realm.yaml': file(realm, ['a', 'b', 'c']),
    })
    expect((await run('apply --auto-approve')).code).toBe(0)
    write({ 'realm.yaml': file(realm, ['a']) })
    const refused = await run('apply --auto-approve -o json')
    expect(refused).toMatchObject({ code: 7, stdout: '' })
    expect(JSON.parse(refused.stderr).error).toMatchObject({ exitCode: 7, code: 'command' })
    expect((await run('plan --detailed-exitcode')).code).toBe(2)
    expect((await run('apply --auto-approve --max-deletions 2')).code).toBe(0)
    expect((await run('plan --detailed-exitcode')).code).toBe(0)
  })
})

describe('the guards of a saved plan', () => {
  const estate = (limit: number | null): string =>
    `source: guarded\npaths: [realm.yaml]\n${limit === null ? '' : `guards: { maxDeletions: ${limit} }\n`}`

  /** Null: neither the estate nor a flag says anything. */
  const limits = [null, 0, 3]
  const cases = limits.flatMap((made) =>
    limits.flatMap((applied) =>
      (['estate', 'flag'] as const).map((through) => ({ made, applied, through })),
    ),
  )

  it('are those that it was made under, and the stricter ones where it is applied under others', async () => {
    const realm = newRealm()
    const names = Array.from({ length: 4 }, (_, i) => `role-${i}`)
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': estate(null),
      'realm.yaml': file(realm, names),
    })
    expect((await run('apply --auto-approve')).code).toBe(0)
    write({ 'realm.yaml': file(realm, names.slice(0, 1)) })
    const codeOf = async ({ made, applied, through }: (typeof cases)[number]) => {
      const flag = (limit: number | null) =>
        through === 'flag' && limit !== null ? ['--max-deletions', String(limit)] : []
      const declare = (limit: number | null) =>
        write({ 'iamctl.yaml': estate(through === 'estate' ? limit : null) })
      declare(made)
      const planned = await run('plan --out saved.plan', ...flag(made))
      expect(planned.code, planned.stderr).toBe(0)
      declare(applied)
      // Not confirmed where no guard refuses: nothing is changed, and the next case finds the same realm.
      return (await run('apply --plan saved.plan', ...flag(applied))).code
    }
    for (const one of cases) {
      const strictest = Math.min(one.made ?? 20, one.applied ?? Number.POSITIVE_INFINITY)
      const isRefused = strictest < 3
      expect({ ...one, refused: (await codeOf(one)) === 7 }).toEqual({ ...one, refused: isRefused })
    }
    expect(await statusOf(`${realm}/roles/role-3`)).toBe(200)
    write({ 'iamctl.yaml': estate(25) })
    await run('plan --out saved.plan')
    expect((await run('apply --plan saved.plan --auto-approve')).code).toBe(0)
    expect(await statusOf(`${realm}/roles/role-3`)).toBe(404)
  })

  it('hold beside an estate file that cannot be read: nothing is applied', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': estate(null),
      'realm.yaml': file(realm, ['a']),
    })
    await run('plan --out saved.plan')
    write({ 'iamctl.yaml': 'guards: { maxDeletion: 1 }\n' })
    expect(await run('apply --plan saved.plan --auto-approve')).toMatchObject({ code: 3 })
    expect(await statusOf(realm)).toBe(404)
  })
})

describe('outputs for programs', () => {
  it('are one object of a plan and of drift, and one line a realm of an apply', async () => {
    const [realm, other] = [newRealm(), newRealm()]
    const { run } = newEstate(world(), {
      'a.yaml': file(realm, ['a']),
      'b.yaml': file(other, ['b']),
    })
    const planned = await run('plan a.yaml b.yaml -o json')
    expect(planned).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(planned.stdout)).toMatchObject({
      formatVersion: 1,
      server: world().server.url,
      hasChanges: true,
      isApplicable: true,
      summary: { add: 6, change: 0, destroy: 0 },
      realms: [
        { realm, createRealm: true, baseRevision: 0, source: 'default', prune: 'owned' },
        { realm: other, createRealm: true },
      ],
    })
    const applied = await run('apply a.yaml b.yaml --auto-approve -o json --message Both')
    expect(applied).toMatchObject({ code: 0, stderr: '' })
    expect(lines(applied.stdout)).toMatchObject([
      { realm, outcome: 'applied', reply: { revision: 1, dryRun: false, deleted: 0 } },
      { realm: other, outcome: 'applied' },
    ])
    const again = await run('apply a.yaml b.yaml -o json')
    expect(lines(again.stdout)).toEqual([
      { realm, outcome: 'unchanged', revision: 1 },
      { realm: other, outcome: 'unchanged', revision: 1 },
    ])
    const drift = await run('drift a.yaml -o json')
    expect(drift).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(drift.stdout)).toMatchObject({ hasChanges: false, realms: [{ changes: [] }] })
    const history = JSON.parse((await run(`history --realm ${realm} -o json`)).stdout)
    expect(history).toMatchObject([
      { revision: 1, actorName: 'admin', source: 'changeset', message: 'Both' },
    ])
    expect(history[0].provenance).toMatchObject({ iamctl: expect.any(String) })
    const trial = JSON.parse((await run(`rollback 1 --realm ${realm} --plan -o json`)).stdout)
    expect(trial).toMatchObject({ dryRun: true, changes: [] })
  })

  it('are errors with what moved and who moved it, where a plan is stale', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': file(realm, ['a']) })
    await run('apply realm.yaml --auto-approve')
    write({ 'realm.yaml': file(realm, ['a', 'b']) })
    await run('plan realm.yaml --out saved.plan')
    await world().admin.send('POST', `/admin/realms/${realm}/roles`, { name: 'meanwhile' })
    const stale = await run('apply --plan saved.plan --auto-approve -o json')
    expect(stale.code).toBe(6)
    expect(lines(stale.stdout)).toMatchObject([
      { realm, outcome: 'failed', error: { code: 'stale', exitCode: 6 } },
    ])
    expect(JSON.parse(stale.stderr).error.details).toMatchObject({
      revision: 2,
      moved: [
        {
          revision: 2,
          actorName: 'admin',
          source: 'rest',
          changes: [{ op: 'create', kind: 'role', key: 'meanwhile' }],
        },
      ],
    })
  })

  it('are a comment for a pull request', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': file(realm, ['a']) })
    const { code, stdout, stderr } = await run('plan realm.yaml -o markdown')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('to add')
    expect(stdout).toContain('```diff')
    expect(stdout).not.toContain('\u001b[')
  })
})

describe('colours', () => {
  it('are on a terminal, and gone with NO_COLOR or where the plan goes into a file', async () => {
    const realm = newRealm()
    const { run, folder, env } = newEstate(world(), { 'realm.yaml': file(realm, ['a']) })
    const command = [process.execPath, bundle, 'plan', 'realm.yaml']
    const shown = onTerminal(command, { env, cwd: folder })
    expect(await shown.exited).toBe(0)
    expect(shown.screen()).toContain('\u001b[32m')
    const plain = onTerminal(command, { env: { ...env, NO_COLOR: '1' }, cwd: folder })
    expect(await plain.exited).toBe(0)
    expect(plain.screen()).toContain('will be created')
    expect(plain.screen()).not.toContain('\u001b[3')
    expect((await run('plan realm.yaml')).stdout).not.toContain('\u001b[')
  })
})

describe('a plan in a file', () => {
  it('is applied to the server it was made for, as it was saved and by itself, or not at all', async () => {
    const realm = newRealm()
    const { run, folder } = newEstate(world(), { 'realm.yaml': file(realm, ['a']) })
    await run('plan realm.yaml --out saved.plan')
    const saved = join(folder, 'saved.plan')
    const text = readFileSync(saved, 'utf8')
    const elsewhere = world().server.url.replace('127.0.0.1', 'localhost')
    const wrong = await run(`apply --plan saved.plan --auto-approve --server ${elsewhere}`)
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain(`the plan was made for ${world().server.url}`)
    expect((await run('apply realm.yaml --plan saved.plan --auto-approve')).code).toBe(1)
    writeFileSync(saved, text.replaceAll('"web"', '"evil"'))
    const edited = await run('apply --plan saved.plan --auto-approve')
    expect(edited.code).toBe(3)
    expect(edited.stderr).toContain('changed after it was saved')
    writeFileSync(saved, text.slice(0, -200))
    expect((await run('apply --plan saved.plan --auto-approve')).code).toBe(3)
    expect(await statusOf(realm)).toBe(404)
    writeFileSync(saved, text)
    expect((await run('apply --plan saved.plan --auto-approve')).code).toBe(0)
  })
})

describe('a rollback at a terminal', () => {
  it('asks for the name of the realm where it destroys something, and does nothing without it', async () => {
    const realm = newRealm()
    const { run, folder, env, write } = newEstate(world(), { 'realm.yaml': file(realm, ['a']) })
    await run('apply realm.yaml --auto-approve')
    write({ 'realm.yaml': file(realm, ['a', 'b']) })
    await run('apply realm.yaml --auto-approve')
    const typed = async (answer: string): Promise<number | null> => {
      const command = [process.execPath, bundle, 'rollback', '1', '--realm', realm]
      const terminal = onTerminal(command, { env, cwd: folder })
      await terminal.waitFor('Its name: ')
      terminal.type(`${answer}\r`)
      return terminal.exited
    }
    expect(await typed('yes')).toBe(1)
    expect(await statusOf(`${realm}/roles/b`)).toBe(200)
    expect(await typed(realm)).toBe(0)
    expect(await statusOf(`${realm}/roles/b`)).toBe(404)
    expect(await run(`rollback 99 --realm ${realm} --auto-approve`)).toMatchObject({ code: 1 })
  })
})
