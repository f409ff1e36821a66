/** `iamctl events --follow` with the built program: streams, what breaks off, older servers, and a person at a terminal. */
import { describe, expect, it } from 'vitest'
import type { EventRecord } from '#schemas/wire/events.ts'
import { bundle } from '../../../support/processes/cli.ts'
import { type CliProcess, spawnCli } from '../../../support/processes/processes.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'
import { newRealm } from '../fixture/estate.ts'
import { adminHome, sharedWorld } from '../fixture/fixture.ts'
import { startProxy } from '../fixture/proxy.ts'

const world = sharedWorld()

const realmWithEvents = async (): Promise<string> => {
  const realm = newRealm()
  expect((await world().admin.send('POST', '/admin/realms', { realm })).status).toBe(201)
  return realm
}

const make = async (realm: string, ...names: string[]): Promise<void> => {
  for (const name of names) {
    const { status } = await world().admin.send('POST', `/admin/realms/${realm}/roles`, { name })
    expect(status).toBe(201)
  }
}

const start = (realm: string, args: string, env: Record<string, string> = {}): CliProcess =>
  spawnCli(['events', '--follow', '-o', 'json', '--realm', realm, ...args.split(' ')], {
    env: { ...adminHome(world()).env, ...env },
  })

const roles = ({ stdout }: CliProcess): (string | null)[] =>
  stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line): EventRecord => JSON.parse(line))
    .filter(({ resourceType }) => resourceType === 'roles')
    .map(({ resourceId }) => resourceId)

const ended = async (following: CliProcess): Promise<void> => {
  following.kill('SIGTERM')
  expect(await following.exited).toEqual({ code: 0, signal: null })
}

const lines = (following: CliProcess, count: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const look = (): void => {
      if (roles(following).length >= count) resolve()
    }
    following.child.stdout?.on('data', look)
    following.exited.then(() => reject(new Error(following.stderr())), reject)
    look()
  })

describe('events --follow', () => {
  it('begins with what there is, goes on with what happens, passes the filter on, and ends when told', async () => {
    const realm = await realmWithEvents()
    await make(realm, 'first')
    const all = start(realm, '--category ADMIN')
    const none = start(realm, '--outcome FAILURE --limit all')
    await lines(all, 1)
    await make(realm, 'second', 'third')
    await lines(all, 3)
    expect(new Set(roles(all)).size).toBe(3)
    await ended(all)
    // One that shows nothing says that it is ready.
    await none.waitForLine(new RegExp(`^following the events of realm ${realm}$`))
    await ended(none)
    expect(roles(none)).toEqual([])
    const refused = await adminHome(world()).run(['events', '-f', '--to', '1h', '--realm', realm])
    expect(refused).toMatchObject({ code: 1 })
  })

  it('goes on where it was when the connection breaks off: nothing is lost and nothing comes twice', async () => {
    const realm = await realmWithEvents()
    let opened = 0
    let isClosed = false
    const proxy = await startProxy(world().server.url, ({ url }, answer) => {
      if (!url?.includes('/events/stream')) return
      opened += 1
      if (isClosed) answer.destroy()
    })
    const following = start(realm, '--category ADMIN', { IAMCTL_SERVER: proxy.url })
    await make(realm, 'before')
    await lines(following, 1)
    isClosed = true
    proxy.cut()
    await make(realm, 'meanwhile')
    isClosed = false
    await make(realm, 'after')
    await lines(following, 3)
    await ended(following)
    expect(roles(following)).toHaveLength(3)
    expect(opened).toBeGreaterThan(1)
  })

  it('asks a server without streams again and again instead', async () => {
    const realm = await realmWithEvents()
    await make(realm, 'there')
    const proxy = await startProxy(world().server.url, ({ url }, answer) => {
      if (!url?.includes('/events/stream')) return
      const problem = {
        type: 'about:blank',
        status: 404,
        code: 'not-found',
        detail: 'no such path',
      }
      answer.writeHead(404, { 'content-type': 'application/problem+json' })
      answer.end(JSON.stringify(problem))
    })
    const following = start(realm, '--category ADMIN', { IAMCTL_SERVER: proxy.url })
    await lines(following, 1)
    await make(realm, 'one', 'two')
    await lines(following, 3)
    await make(realm, 'three')
    await lines(following, 4)
    await ended(following)
    expect(new Set(roles(following)).size).toBe(4)
  })

  it('shows a person a line an event, with names, until Ctrl-C', async () => {
    const realm = await realmWithEvents()
    const home = adminHome(world())
    const command = [process.execPath, bundle, 'events', '-f', '--realm', realm]
    const terminal = onTerminal(command, { env: home.env, cwd: home.folder, columns: 160 })
    await make(realm, 'seen')
    await terminal.waitFor('ADMIN_CREATE')
    await terminal.waitFor('admin (master)')
    terminal.type('\u0003')
    expect(await terminal.exited).toBe(0)
  })
})
