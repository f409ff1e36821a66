/** Exit codes are an interface (docs/pipelines.md): each of them, a way that leads to it, and that nothing was changed. */
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { bundle } from '../../support/processes/cli.ts'
import { onTerminal } from '../../support/processes/terminal.ts'
import { newEstate, newRealm } from './fixture/estate.ts'
import { freshHome, sharedWorld } from './fixture/fixture.ts'

const world = sharedWorld()

const roles = (realm: string, names: readonly string[], more = ''): string =>
  `realm: ${realm}\nroles:${names.length === 0 ? ' []' : names.map((name) => `\n  - { name: ${name}${more} }`).join('')}\n`

const revisionOf = async (realm: string): Promise<number> =>
  (await world().admin.send('GET', `/admin/realms/${realm}`)).body.revision

describe('exit code 1', () => {
  it('is for a flag that does not exist, which never applies anything (a0#1227)', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': roles(realm, ['a']) })
    const refused = await run('apply realm.yaml --auto-approve --dry-runn')
    expect(refused.code).toBe(1)
    expect((await world().admin.send('GET', `/admin/realms/${realm}`)).status).toBe(404)
  })

  it('is for an apply that nobody can approve: it never asks where there is no terminal', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': roles(realm, ['a']) })
    const refused = await run('apply realm.yaml')
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.stderr).toContain('--auto-approve')
    expect((await world().admin.send('GET', `/admin/realms/${realm}`)).status).toBe(404)
  })
})

describe.runIf(existsSync('/dev/full'))('a full disk', () => {
  it('is told with the file of the plan, with exit code 1', async () => {
    const { run } = newEstate(world(), { 'realm.yaml': roles(newRealm(), ['a']) })
    const { code, stderr } = await run('plan realm.yaml --out /dev/full')
    expect(code).toBe(1)
    expect(stderr).toContain('/dev/full cannot be written: the disk is full')
    expect(stderr).not.toContain('    at ')
  })
})

describe('exit code 3', () => {
  it('is for files that are not valid, with every problem and its place, before anything is sent', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nroles: [{ nmae: a }]\ngroups: [{ name: G, roles: [b] }]\n`,
    })
    for (const command of ['plan', 'apply --auto-approve', 'drift', 'validate']) {
      const refused = await run(`${command} realm.yaml`)
      const said = refused.stdout + refused.stderr
      expect(refused.code, command).toBe(3)
      expect(said).toContain('realm.yaml:2:11')
      expect(said).toContain('unknown-field')
    }
  })

  it('is for a secret that is not there, named with its place', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), {
      'realm.yaml': `realm: ${realm}\nclients: [{ clientId: api, secret: "\${env:NOT_SET_ANYWHERE}" }]\n`,
    })
    expect((await run('validate realm.yaml')).code).toBe(0)
    const refused = await run('apply realm.yaml --auto-approve')
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain('NOT_SET_ANYWHERE')
  })
})

describe('exit code 4', () => {
  it('is for a wrong password, and for what one may not do', async () => {
    const estate = newEstate(world(), { 'realm.yaml': roles(newRealm(), ['a']) })
    const wrong = freshHome(world(), {
      IAMCTL_USERNAME: 'admin',
      IAMCTL_PASSWORD: 'not this one 77',
    })
    const refused = await wrong.run(['plan', 'realm.yaml'], { cwd: estate.folder })
    expect(refused.code).toBe(4)
    expect(refused.stderr).not.toContain('not this one 77')
    const alice = freshHome(world(), {
      IAMCTL_USERNAME: 'alice',
      IAMCTL_PASSWORD: 'alices own long password 7',
      IAMCTL_AUTH_REALM: 'acme',
    })
    estate.write({ 'acme.yaml': roles('acme', ['a']) })
    const denied = await alice.run(['apply', 'acme.yaml', '--auto-approve'], { cwd: estate.folder })
    expect(denied.code).toBe(4)
  })
})

describe('exit code 5', () => {
  it('is for a server that cannot be reached, so that it is not mistaken for a realm that was never applied', async () => {
    const { run } = newEstate(
      world(),
      { 'realm.yaml': roles(newRealm(), ['a']) },
      { IAMCTL_SERVER: 'http://127.0.0.1:9' },
    )
    for (const command of ['plan', 'apply --auto-approve', 'drift'])
      expect((await run(`${command} realm.yaml`)).code, command).toBe(5)
  })
})

describe('exit code 6', () => {
  it('is for a plan that is stale, and says what moved and who moved it', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': roles(realm, ['a']) })
    await run('apply realm.yaml --auto-approve')
    write({ 'realm.yaml': roles(realm, ['a', 'b']) })
    await run('plan realm.yaml --out saved.plan')
    await world().admin.send('POST', `/admin/realms/${realm}/roles`, { name: 'meanwhile' })
    const stale = await run('apply --plan saved.plan --auto-approve')
    expect(stale.code).toBe(6)
    expect(stale.stderr).toContain('meanwhile')
    expect(stale.stderr).toContain('admin')
    expect((await world().admin.send('GET', `/admin/realms/${realm}/roles/b`)).status).toBe(404)
    const unrelated = await run('apply --plan saved.plan --auto-approve --allow-unrelated')
    expect(unrelated.code).toBe(0)
  })

  it('is for documents of another source, which --take-over makes ours', async () => {
    const realm = newRealm()
    const { run } = newEstate(world(), { 'realm.yaml': roles(realm, ['a']) })
    await run('apply realm.yaml --auto-approve --source theirs')
    const refused = await run('apply realm.yaml --auto-approve --source ours')
    expect(refused.code).toBe(6)
    expect(refused.stdout + refused.stderr).toContain('theirs')
    expect((await run('apply realm.yaml --auto-approve --source ours --take-over')).code).toBe(0)
    expect((await run('plan realm.yaml --detailed-exitcode --source ours')).code).toBe(0)
  })
})

describe('exit code 7', () => {
  it('is for more deletions than are allowed', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), { 'realm.yaml': roles(realm, ['a', 'b', 'c']) })
    await run('apply realm.yaml --auto-approve')
    write({ 'realm.yaml': roles(realm, []) })
    const before = await revisionOf(realm)
    const refused = await run('apply realm.yaml --auto-approve --max-deletions 2')
    expect(refused.code).toBe(7)
    expect(refused.stderr).toContain('--max-deletions')
    expect(await revisionOf(realm)).toBe(before)
    expect((await run('apply realm.yaml --auto-approve --prune none')).code).toBe(0)
    expect((await run('apply realm.yaml --auto-approve --max-deletions 3')).code).toBe(0)
    expect((await world().admin.send('GET', `/admin/realms/${realm}/roles/a`)).status).toBe(404)
  })

  it('is for a protected document, until an apply takes the protection back', async () => {
    const realm = newRealm()
    const { run, write } = newEstate(world(), {
      'realm.yaml': roles(realm, ['a'], ', protected: true'),
    })
    await run('apply realm.yaml --auto-approve')
    write({ 'realm.yaml': roles(realm, []) })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(7)
    expect(await run(`delete role a --realm ${realm} --auto-approve`)).toMatchObject({ code: 7 })
    write({ 'realm.yaml': roles(realm, ['a']) })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
    write({ 'realm.yaml': roles(realm, []) })
    expect((await run('apply realm.yaml --auto-approve')).code).toBe(0)
  })

  it('is for files that are gone', async () => {
    const { run, write } = newEstate(world(), {
      'iamctl.yaml': 'source: estate\npaths: ["."]\n',
    })
    const refused = await run('apply --auto-approve')
    expect(refused).toMatchObject({ code: 7, stderr: expect.stringContaining('--allow-empty') })
    expect((await run('apply --auto-approve --allow-empty')).code).toBe(0)
    // Those that only read have no such flag.
    for (const command of ['plan', 'drift']) {
      const { code, stderr } = await run(command)
      expect(code).toBe(7)
      expect(stderr).toContain('set guards.allowEmpty in iamctl.yaml')
      expect(stderr).not.toContain('--allow-empty')
    }
    write({ 'iamctl.yaml': 'source: estate\npaths: ["."]\nguards: { allowEmpty: true }\n' })
    expect((await run('plan')).code).toBe(0)
    expect((await run('drift')).code).toBe(0)
  })
})

describe('several realms', () => {
  it('are applied one by one: one that fails does not keep the others from it, and gives the exit code', async () => {
    const [first, second] = [newRealm(), newRealm()]
    const { run, write } = newEstate(world(), {
      'a.yaml': roles(first, ['a']),
      'b.yaml': roles(second, ['b']),
    })
    await run('apply b.yaml --auto-approve')
    write({ 'b.yaml': roles(second, ['b', 'c']) })
    await run('plan a.yaml b.yaml --out both.plan')
    await world().admin.send('POST', `/admin/realms/${second}/roles`, { name: 'meanwhile' })
    const partly = await run('apply --plan both.plan --auto-approve')
    expect(partly.code).toBe(6)
    expect(partly.stderr).toContain('1 of 2 realms failed')
    const { admin } = world()
    expect((await admin.send('GET', `/admin/realms/${first}/roles/a`)).status).toBe(200)
    expect((await admin.send('GET', `/admin/realms/${second}/roles/c`)).status).toBe(404)
    expect((await run('apply a.yaml b.yaml --auto-approve')).code).toBe(0)
  })
})

describe('at a terminal', () => {
  it('an apply is approved by yes, and a deletion by the name of the realm', async () => {
    const realm = newRealm()
    const { folder, env, write } = newEstate(world(), { 'realm.yaml': roles(realm, ['a']) })
    const typed = async (question: string, answer: string): Promise<[number | null, string]> => {
      const terminal = onTerminal([process.execPath, bundle, 'apply', 'realm.yaml'], {
        env,
        cwd: folder,
      })
      await terminal.waitFor(question)
      terminal.type(`${answer}\r`)
      return [await terminal.exited, terminal.screen()]
    }
    expect((await typed('Enter a value: ', 'y'))[0]).toBe(1)
    expect((await world().admin.send('GET', `/admin/realms/${realm}`)).status).toBe(404)
    expect((await typed('Enter a value: ', 'yes'))[0]).toBe(0)
    write({ 'realm.yaml': roles(realm, []) })
    expect((await typed('Its name: ', 'yes'))[0]).toBe(1)
    const [code, screen] = await typed('Its name: ', realm)
    expect(code).toBe(0)
    expect(screen).toContain('1 to destroy')
  })
})
