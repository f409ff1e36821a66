/** `get` and `delete`: documents of a realm, for people and for programs. */
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { bundle } from '../../support/processes/cli.ts'
import { onTerminal } from '../../support/processes/terminal.ts'
import { credentials, freshHome, startWorld } from './fixture/fixture.ts'

const world = startWorld()
const acme = '/admin/realms/acme'

const create = async (path: string, body: unknown): Promise<void> => {
  const { status, body: answer } = await world().admin.send('POST', `${acme}${path}`, body)
  if (status !== 201) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`)
}

const exists = async (path: string): Promise<boolean> =>
  (await world().admin.send('GET', acme + path)).status === 200

const web = {
  clientId: 'web',
  name: 'The shop',
  publicClient: true,
  grantTypes: ['authorization_code'],
  redirectUris: ['https://shop.example/callback'],
}

beforeAll(async () => {
  await create('/clients', web)
  await create('/clients/web/roles', { name: 'reader' })
  await create('/groups', { name: 'Staff' })
  const { body } = await world().admin.send('GET', `${acme}/groups/%2FStaff`)
  const { groupId } = body as { groupId: string }
  await create('/groups', { name: 'Helpdesk', parentId: groupId })
})

describe('get', () => {
  it('shows a list as a table, and as the JSON and YAML of the API', async () => {
    const { run } = world().home
    const table = await run(['get', 'clients'])
    expect(table.stdout).toMatch(/^CLIENT +.*\n(.*\n)?web +The shop/)
    const json = await run(['get', 'client', '-o', 'json'])
    const yaml = await run(['get', 'clients', '--output', 'yaml'])
    expect(JSON.parse(json.stdout)).toMatchObject([{ clientId: 'iamctl-cli' }, web])
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout))
    expect([table, json, yaml].map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
      [0, ''],
    ])
  })

  it('lists realms, without being told of one, and shows one', async () => {
    const { run } = freshHome(world(), { ...credentials, IAMCTL_REALM: '' })
    const table = await run(['get', 'realms'])
    expect(table, table.stderr).toMatchObject({ code: 0, stderr: '' })
    expect(table.stdout).toMatch(/^REALM +REVISION\n(?:.*\n)*acme +\d+\n/)
    const json = JSON.parse((await run(['get', 'realms', '-o', 'json'])).stdout)
    expect(json).toContainEqual(expect.objectContaining({ realm: 'master' }))
    const one = JSON.parse((await run(['get', 'realm', 'acme', '-o', 'json'])).stdout)
    expect(one).toMatchObject({ realm: 'acme', revision: expect.any(Number) })
    const none = await run(['get', 'realm', 'nowhere'])
    expect(none.code).toBe(1)
    expect(none.stderr).toContain('`iamctl get realms`')
  })

  it('shows one document by natural key or id', async () => {
    const { run } = world().home
    const one = JSON.parse((await run(['get', 'client', 'web', '-o', 'json'])).stdout)
    expect(one).toMatchObject(web)
    const again = JSON.parse((await run(['get', 'client', one.id, '-o', 'json'])).stdout)
    expect(again).toEqual(one)
    const human = (await run(['get', 'client', 'web'])).stdout
    expect(parse(human)).toMatchObject(web)
    expect(human).not.toContain('null')
  })

  it.each([
    ['client-roles', 'web/reader', 'web/reader'],
    ['clientRole', 'web/reader', 'web/reader'],
    ['groups', '/Staff/Helpdesk', '/Staff/Helpdesk'],
    ['group', 'Staff', '/Staff'],
    ['users', 'alice', 'alice'],
  ])('finds %s %s, and lists it by its key', async (kind, key, shown) => {
    const { run } = world().home
    expect((await run(['get', kind, key, '-o', 'json'])).code).toBe(0)
    const { stdout } = await run(['get', kind])
    expect(stdout.split('\n').map((line) => line.split('  ')[0])).toContain(shown)
  })

  it('shows what every realm has once', async () => {
    const { run } = world().home
    const { code, stdout } = await run(['get', 'settings', '-o', 'json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ realmId: 'acme', enabled: true })
  })

  it('tells what is not there: exit code 1, the name, and nothing on stdout', async () => {
    const { run } = world().home
    const { code, stdout, stderr } = await run(['get', 'client', 'nobody'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('there is no client "nobody"')
    const json = await run(['get', 'client', 'nobody', '-o', 'json'])
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: { code: 'not-found', status: 404, exitCode: 1 },
    })
    const empty = await run(['get', 'webhooks'])
    expect(empty.stderr).toContain('realm acme has no webhooks')
    expect((await run(['get', 'webhooks', '-o', 'json'])).stdout).toBe('[]\n')
    expect((await run(['get', 'webhooks', '--quiet'])).stderr).toBe('')
  })

  it('asks for a realm, and says which there are', async () => {
    const { run } = freshHome(world(), credentials)
    const { code, stderr } = await run(['get', 'clients'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/--realm \(IAMCTL_REALM\); there are acme, master/)
  })

  it('shows so many users as are asked for, and says that there are more', async () => {
    const { run } = world().home
    for (const name of ['ada', 'adam', 'bert'])
      await create('/users', { username: name, enabled: true })
    const two = await run(['get', 'users', '--limit', '2', '-o', 'json'])
    expect(JSON.parse(two.stdout)).toHaveLength(2)
    expect(two.stderr).toContain('the first 2 of 4')
    const found = await run(['get', 'users', '--search', 'ada', '-o', 'json'])
    const names = JSON.parse(found.stdout).map(({ username }: { username: string }) => username)
    expect(names).toEqual(['ada', 'adam'])
    const all = await run(['get', 'users', '--limit', 'all', '-o', 'json'])
    expect(all.stderr).toBe('')
    expect((await run(['get', 'clients', '--limit', '2'])).code).toBe(1)
  })

  it('lets nothing of the data steer the terminal', async () => {
    const { run } = world().home
    const bell = 'red\u001b[31m\u009b2J\u202eevil'
    await create('/organizations', { alias: 'evil', name: bell })
    for (const [output, ...key] of [['human'], ['human', 'evil'], ['json'], ['yaml', 'evil']]) {
      const { stdout } = await run(['get', 'organizations', ...key, '-o', output ?? ''])
      for (const control of ['\u001b', '\u009b']) expect(stdout).not.toContain(control)
      if (output === 'json') expect(JSON.parse(stdout)).toMatchObject([{ name: bell }])
    }
  })

  it('breaks no line of a table at a terminal', async () => {
    const { env, folder } = world().home
    const command = [process.execPath, bundle, 'get', 'clients', '--no-color']
    const terminal = onTerminal(command, { env, cwd: folder, columns: 40 })
    expect(await terminal.exited).toBe(0)
    for (const line of terminal.screen().trim().split('\r\n'))
      expect(line.length).toBeLessThanOrEqual(40)
    expect(terminal.screen()).toMatch(/^web +The shop/m)
  })
})

describe('delete', () => {
  it('needs --auto-approve, or its alias --yes, without a terminal', async () => {
    const { run } = world().home
    await create('/roles', { name: 'doomed' })
    const asked = await run(['delete', 'role', 'doomed'])
    expect(asked.code).toBe(1)
    expect(asked.stderr).toContain('--auto-approve')
    expect(await exists('/roles/doomed')).toBe(true)
    const done = await run(['delete', 'role', 'doomed', '--auto-approve', '-o', 'json'])
    expect(JSON.parse(done.stdout)).toEqual({
      realm: 'acme',
      kind: 'role',
      key: 'doomed',
      deleted: true,
    })
    expect(await exists('/roles/doomed')).toBe(false)
    expect((await run(['delete', 'role', 'doomed', '--auto-approve'])).code).toBe(1)
    await create('/roles', { name: 'doomed' })
    expect((await run(['delete', 'role', 'doomed', '--yes'])).code).toBe(0)
    expect(await exists('/roles/doomed')).toBe(false)
  })

  it.each([
    ['n', 1, true],
    ['', 1, true],
    ['y', 0, false],
  ])('at a terminal asks, and takes "%s" for an answer', async (answer, code, stays) => {
    const { env, folder } = world().home
    const name = `asked-${code}-${answer}`
    await create('/roles', { name })
    const command = [process.execPath, bundle, 'delete', 'role', name]
    const terminal = onTerminal(command, { env, cwd: folder })
    await terminal.waitFor(`Delete role ${name} of realm acme`)
    terminal.type(`${answer}\r`)
    expect(await terminal.exited).toBe(code)
    expect(await exists(`/roles/${name}`)).toBe(stays)
  })

  it('reaches no other path by a name of dots, or an empty one', async () => {
    const { run } = world().home
    await create('/roles', { name: 'kept' })
    for (const words of [
      ['client-role', '../kept'],
      ['role', '..'],
      ['role', '.'],
      ['role', ''],
    ]) {
      const { code, stderr } = await run(['delete', ...words, '--auto-approve'])
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining('is not a name that a document can have'),
      })
    }
    expect(await exists('/roles/kept')).toBe(true)
    const { code, stderr } = await run(['get', 'roles', '--realm', ''])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('no realm is named'),
    })
  })

  it('of what is built in is refused by the server: exit code 7', async () => {
    const { run } = world().home
    const { code, stderr } = await run(['delete', 'role', 'admin', '--auto-approve'])
    expect(code).toBe(7)
    expect(stderr).toContain('admin')
  })

  it('of what others refer to is a conflict: exit code 6', async () => {
    const { run } = world().home
    await create('/roles', { name: 'used' })
    await create('/flows', {
      alias: 'mine',
      authenticationExecutions: [{ authenticator: 'username-password' }],
    })
    const { body } = await world().admin.send('GET', `${acme}/settings`)
    const settings = { ...(body as object), browserFlow: 'mine' }
    expect((await world().admin.send('PUT', `${acme}/settings`, settings)).status).toBe(200)
    const { code, stderr } = await run(['delete', 'flow', 'mine', '--auto-approve'])
    expect(code).toBe(6)
    expect(stderr).toContain('mine')
  })

  it('of what every realm has is refused', async () => {
    const { run } = world().home
    const { code, stderr } = await run(['delete', 'settings', 'settings', '--auto-approve'])
    expect(code).toBe(1)
    expect(stderr).toContain('every realm has it')
  })
})
