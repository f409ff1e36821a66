/**
 * A signal during a changeset: the program reports the outcome of the revision, restores the cursor, and exits with 130 or 143.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { bundle } from '../../../support/processes/cli.ts'
import { spawnCli } from '../../../support/processes/processes.ts'
import { onTerminal } from '../../../support/processes/terminal.ts'
import { type Estate, newEstate, newRealm } from '../fixture/estate.ts'
import { sharedWorld } from '../fixture/fixture.ts'
import { startProxy } from '../fixture/proxy.ts'

const world = sharedWorld()

/** An apply whose changeset is held on its way to the server until the test lets it go. */
const held = async (
  isHeld: (incoming: IncomingMessage) => boolean,
  answerIt?: (answer: ServerResponse) => void,
) => {
  const realm = newRealm()
  const arrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const proxy = await startProxy(world().server.url, async (incoming, answer) => {
    if (!isHeld(incoming)) return
    arrived.resolve()
    await release.promise
    answerIt?.(answer)
  })
  const estate = newEstate(
    world(),
    { 'realm.yaml': `realm: ${realm}\nroles: [{ name: a }]\n` },
    { IAMCTL_SERVER: proxy.url },
  )
  const args = ['apply', 'realm.yaml', '--auto-approve']
  return { realm, estate, args, arrived: arrived.promise, release: release.resolve }
}

const isChangeset = ({ method, url = '' }: IncomingMessage): boolean =>
  method === 'POST' && url.endsWith('/changesets')

const start = ({ estate, args }: Awaited<ReturnType<typeof held>>) =>
  spawnCli(args, { env: estate.env, cwd: estate.folder })

describe('an apply that is interrupted', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('waits for the answer and tells the revision (%s)', async (signal, code) => {
    const one = await held(isChangeset)
    const program = start(one)
    await one.arrived
    program.kill(signal)
    await program.waitForLine(/waiting for the response/)
    one.release()
    expect(await program.exited).toEqual({ code, signal: null })
    expect(program.stderr()).toContain(`realm ${one.realm}: committed as revision 1`)
  })

  it('tells that nothing was committed where the server refuses', async () => {
    const one = await held(isChangeset, (answer) => {
      answer.writeHead(409, { 'content-type': 'application/problem+json' })
      answer.end(JSON.stringify({ status: 409, code: 'conflict', detail: 'refused by the test' }))
    })
    const program = start(one)
    await one.arrived
    program.kill('SIGINT')
    await program.waitForLine(/waiting for the response/)
    one.release()
    expect(await program.exited).toEqual({ code: 130, signal: null })
    expect(program.stderr()).toContain(`realm ${one.realm}: not committed`)
    expect(program.stderr()).toContain('refused by the test')
  })

  it('leaves at the second signal, and tells how to find out', async () => {
    const one = await held(isChangeset)
    const program = start(one)
    await one.arrived
    program.kill('SIGINT')
    await program.waitForLine(/waiting for the response/)
    program.kill('SIGINT')
    expect(await program.exited).toEqual({ code: 130, signal: null })
    expect(program.stderr()).toContain(`realm ${one.realm}: it is not known whether`)
    expect(program.stderr()).toContain(`iamctl history --realm ${one.realm}`)
    one.release()
  })

  it('has changed nothing before the changeset is sent', async () => {
    const one = await held(({ url = '' }) => url.endsWith('/compare'))
    const program = start(one)
    await one.arrived
    program.kill('SIGINT')
    expect(await program.exited).toEqual({ code: 130, signal: null })
    expect(program.stderr()).toContain('nothing was changed')
    one.release()
  })

  it('gives the cursor back to the terminal', async () => {
    const one = await held(isChangeset)
    const { estate, args } = one
    const terminal = onTerminal([process.execPath, bundle, ...args], {
      env: estate.env,
      cwd: estate.folder,
    })
    await one.arrived
    // The spinner hides it.
    await terminal.waitFor('\u001b[?25l')
    terminal.type('\u0003')
    await terminal.waitFor('waiting for the response')
    one.release()
    expect(await terminal.exited).toBe(130)
    const screen = terminal.screen()
    expect(screen).toContain('committed as revision 1')
    expect(screen.lastIndexOf('\u001b[?25h')).toBeGreaterThan(screen.lastIndexOf('\u001b[?25l'))
  })
})

/** Runs the program with a reader of both streams that has left before the first word comes. */
const withoutReader = async (args: readonly string[], { env, folder }: Estate): Promise<number> => {
  const line = `"$@" 2>&1 | true; exit \${PIPESTATUS[0]}`
  const child = spawn('bash', ['-c', line, 'bash', process.execPath, bundle, ...args], {
    env,
    cwd: folder,
    stdio: 'ignore',
  })
  const [code] = await once(child, 'close')
  return code
}

describe('a command whose reader has closed the pipe', () => {
  it('works to the end: exit code 0 says that the realm was changed', async () => {
    const realm = newRealm()
    const estate = newEstate(world(), { 'realm.yaml': `realm: ${realm}\nroles: [{ name: a }]\n` })
    expect(await withoutReader(['apply', 'realm.yaml', '--auto-approve'], estate)).toBe(0)
    expect((await estate.run('plan realm.yaml --detailed-exitcode')).code).toBe(0)
    estate.write({ 'realm.yaml': `realm: ${realm}\nroles: [{ name: b }]\n` })
    expect(await withoutReader(['plan', 'realm.yaml', '--detailed-exitcode'], estate)).toBe(2)
    expect(await withoutReader(['apply', 'realm.yaml', '--auto-approve'], estate)).toBe(0)
    expect(await withoutReader(['rollback', '1', '--realm', realm, '--auto-approve'], estate)).toBe(
      0,
    )
    expect((await estate.run(`get role a --realm ${realm}`)).code).toBe(0)
  })

  it('has the exit code of its error', async () => {
    const estate = newEstate(world(), {
      'realm.yaml': `realm: ${newRealm()}\nroles: [{ nam: a }]\n`,
    })
    expect(await withoutReader(['apply', 'realm.yaml', '--auto-approve'], estate)).toBe(3)
  })
})

describe('an apply without an answer', () => {
  it.each([
    [
      'from a gateway that gives up',
      (answer: ServerResponse) => void answer.writeHead(504).end(''),
    ],
    ['on a connection that breaks', (answer: ServerResponse) => void answer.destroy()],
  ])('%s tells that the outcome is unknown, and how to find out', async (_, give) => {
    const one = await held(isChangeset, give)
    one.release()
    const { code, stderr } = await one.estate.run(one.args.join(' '))
    expect(code, stderr).toBe(5)
    expect(stderr).toContain(`realm ${one.realm}: it is not known whether`)
    expect(stderr).toContain(`iamctl history --realm ${one.realm}`)
  })
})

describe('a rollback that is interrupted', () => {
  it('tells the revision as well', async () => {
    let count = 0
    const one = await held(({ url = '' }) => {
      if (/rollback/.test(url)) count += 1
      // The first is the dry run.
      return count === 2
    })
    const { estate, realm } = one
    const direct = newEstate(world(), { 'realm.yaml': `realm: ${realm}\nroles: [{ name: a }]\n` })
    expect((await direct.run('apply realm.yaml --auto-approve')).code).toBe(0)
    direct.write({ 'realm.yaml': `realm: ${realm}\nroles: [{ name: a }, { name: b }]\n` })
    expect((await direct.run('apply realm.yaml --auto-approve')).code).toBe(0)
    const program = spawnCli(['rollback', '1', '--realm', realm, '--auto-approve'], {
      env: estate.env,
      cwd: estate.folder,
    })
    await one.arrived
    program.kill('SIGINT')
    await program.waitForLine(/waiting for the response/)
    one.release()
    expect(await program.exited).toEqual({ code: 130, signal: null })
    expect(program.stderr()).toContain(`realm ${realm}: committed as revision 3`)
  })
})
