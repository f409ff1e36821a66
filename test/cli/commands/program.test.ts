/** The program itself: its help, what it refuses, and how it ends. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command } from 'commander'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createProgram } from '#cli/program.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { bundle, newHome } from '../../support/processes/cli.ts'
import { onTerminal } from '../../support/processes/terminal.ts'

const home = () => {
  const made = newHome()
  onTestFinished(made.remove)
  return made
}

/** Every command that does something, with its full name. */
const leaves = (command: Command, path: readonly string[] = []): [string, Command][] =>
  command.commands.length === 0
    ? [[path.join(' '), command]]
    : command.commands.flatMap((one) => leaves(one, [...path, one.name()]))

describe('the help', () => {
  it('of the bare program teaches the loop on one screen', async () => {
    const { code, stdout, stderr } = await home().run([])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const word of ['validate', 'plan', 'apply', 'drift', 'history', '--help'])
      expect(stdout).toContain(word)
    const lines = stdout.split('\n')
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
  })

  it('names every exit code', async () => {
    const { code, stdout } = await home().run(['--help'])
    expect(code).toBe(0)
    for (const exit of ['0', '1', '2', '3', '4', '5', '6', '7', '130'])
      expect(stdout).toMatch(new RegExp(`^ {2}${exit} {2,4}\\w`, 'm'))
  })

  const commands = leaves(createProgram()).filter(([name]) => !name.startsWith('server'))

  it.each(commands)('of %s has an example', (name, command) => {
    let text = ''
    command.configureOutput({
      writeOut: (part) => {
        text += part
      },
    })
    command.outputHelp()
    const [first] = name.split(' ')
    expect(text).toMatch(new RegExp(`Examples?:\\n.*iamctl ${first}\\b`, 's'))
  })

  it('of a command is what --help behind it shows', async () => {
    const { code, stdout, stderr } = await home().run(['keys', 'rotate', '--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: iamctl keys rotate .*Examples?:\n.*iamctl keys rotate\b/s)
  })

  it('of a command is what `iamctl help` and its words show', async () => {
    const { stdout } = await home().run(['users', 'import', '--help'])
    expect(await home().run(['help', 'users', 'import'])).toEqual({ code: 0, stdout, stderr: '' })
  })

  it('is the answer to half a command, with exit code 1', async () => {
    const { code, stdout, stderr } = await home().run(['keys'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^Usage: iamctl keys .*rotate/s)
    expect(stderr).not.toContain('outputHelp')
  })

  it.each(['--version', '-V', 'version'])('of the version (%s) is the version', async (word) => {
    const { code, stdout } = await home().run([word])
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${manifest.version}\n` })
  })
})

describe('what is not understood', () => {
  it.each([
    [['gte', 'clients'], 'get'],
    [['keys', 'rotat'], 'rotate'],
    [['get', 'clients', '--relam', 'acme'], '--realm'],
    [['--serverr', 'http://127.0.0.1', 'get'], "unknown option '--serverr'"],
    [['users', 'lock'], 'user'],
    [['get', 'clients', '-o', 'xml'], 'human, json, yaml'],
    [['-o', 'xml', 'get', 'clients'], 'human, json, yaml'],
    [
      ['get', 'a', 'b', 'c'],
      "too many arguments for 'get'. Expected 2 arguments but got 3: a, b, c",
    ],
    [['get', 'clients', '--timeout', 'soon'], 'seconds'],
    [['get', 'clients', '--limit', '0'], 'It is a whole number above 0, or "all".'],
    [['history', '--limit', '0'], 'It is a whole number above 0.'],
    [['plan', '--max-deletions', '-1'], 'It is a whole number, 0 or above.'],
    [['get', 'clientz', '--realm', 'acme'], 'did you mean "clients"?'],
  ])('%j is refused with exit code 1 and what was meant', async (args, meant) => {
    const { code, stdout, stderr } = await home().run(args)
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(meant)
    expect(stderr).toMatch(/^iamctl: /)
  })

  it.each([
    ['ls', 'iamctl get KIND'],
    ['realms', 'iamctl get realms'],
    ['list', 'iamctl get KIND'],
    ['describe', 'iamctl get KIND KEY'],
    ['diff', 'iamctl plan'],
    ['destroy', 'iamctl delete KIND KEY'],
    ['state', 'iamctl history'],
    ['edit', 'iamctl apply'],
    ['create', 'iamctl apply'],
    ['logs', 'iamctl events'],
    ['config', 'iamctl context'],
    ['serve', 'iamctl server'],
    ['restore', 'iamctl server restore'],
    ['lint', 'iamctl validate'],
    ['roles', 'iamctl get roles'],
    ['user', 'iamctl get users'],
    ['rotate', 'iamctl keys rotate'],
    ['set-password', 'iamctl users set-password'],
    ['users list', 'iamctl get users'],
    ['clients rm web', 'iamctl delete KIND KEY'],
    ['keys ls', 'iamctl keys list'],
    ['sessions delete', 'iamctl sessions revoke'],
    ['scim token ls', 'iamctl scim token list'],
    ['--realm acme scim tokens', 'iamctl scim token'],
  ])('%s of other tools gets the command to run', async (line, meant) => {
    const { code, stdout, stderr } = await home().run(line.split(' '))
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    const [message, hint, ...more] = stderr.trimEnd().split('\n')
    expect(message).toMatch(/^iamctl: unknown command '[\w-]+' \(see --help\)$/)
    expect(hint).toContain(`\`${meant}`)
    expect(more).toEqual([])
  })

  it.each([
    ['apply --dry-run', 'iamctl plan'],
    ['apply -auto-approve', '--auto-approve'],
    ['plan -detailed-exitcode', '--detailed-exitcode'],
    ['plan -out=change.plan', '--out'],
    ['plan -out change.plan', '--out'],
    ['apply -f shop.yaml', 'iamctl COMMAND realm.yaml'],
    ['apply -y', '--auto-approve'],
    ['apply --force', '--auto-approve'],
    ['export -n acme', '--realm'],
    ['get users --json', '-o json'],
    ['plan -v', '--debug'],
    ['events --since 1h', '--from'],
    ['plan --detailed-exit-code', '--detailed-exitcode'],
    ['login --password', 'IAMCTL_PASSWORD'],
  ])('%s gets the option to write', async (line, meant) => {
    const { code, stdout, stderr } = await home().run(line.split(' '))
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    const [message, hint, ...more] = stderr.trimEnd().split('\n')
    expect(message).toMatch(/^iamctl: .*\(see --help\)$/)
    expect(message).not.toContain('Did you mean')
    expect(hint).toContain(meant)
    expect(more).toEqual([])
  })

  it.each(['help plann', 'plann --help', 'help users imprt', 'users imprt -h'])(
    'gets no help about everything: %s',
    async (line) => {
      const { code, stdout, stderr } = await home().run(line.split(' '))
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(
        /^iamctl: unknown command '(?:plann|imprt)' .*\n {2}did you mean `iamctl/,
      )
    },
  )

  it('has hints that name commands which exist', async () => {
    const program = createProgram()
    const words = ['ls', 'diff', 'destroy', 'state', 'logs', 'config', 'auth', 'status', 'restore']
    for (const word of words) {
      const { stderr } = await home().run([word])
      const named = [...stderr.matchAll(/`iamctl ([a-z -]+)/g)].map(([, one = '']) => one.trim())
      expect(named, word).not.toEqual([])
      for (const one of named) {
        let command: Command = program
        for (const part of one.split(' ').filter((part) => !part.startsWith('-'))) {
          const next = command.commands.find((inner) => inner.name() === part)
          expect(next, `${word}: ${one}`).toBeDefined()
          command = next ?? command
        }
      }
    }
  })

  it('gets no hint where no command is meant', async () => {
    for (const word of ['zzz', 'constructor', '__proto__', 'wait'])
      expect((await home().run([word])).stderr).toBe(
        `iamctl: unknown command '${word}' (see --help)\n`,
      )
  })

  it('a global option in front of a command that does not take it is refused', async () => {
    const { code, stderr } = await home().run(['--realm', 'acme', 'context', 'list'])
    expect(code).toBe(1)
    expect(stderr).toContain('takes no --realm')
  })

  it('is one JSON object on stderr where JSON is asked for', async () => {
    const { code, stdout, stderr } = await home().run(['get', '--nonsense', '--output', 'json'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'usage', exitCode: 1, message: expect.stringContaining('--nonsense') },
    })
  })
})

describe('the end', () => {
  /** A server that takes connections and says nothing. */
  const silentServer = async (): Promise<{ url: string; asked: Promise<unknown> }> => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.closeAllConnections())
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${port}`, asked: once(server, 'request') }
  }

  it('by Ctrl-C while it waits for an answer has exit code 130', async () => {
    const { url, asked } = await silentServer()
    const { env, folder } = home()
    const who = { IAMCTL_USERNAME: 'admin', IAMCTL_PASSWORD: 'x', IAMCTL_REALM: 'acme' }
    const command = [process.execPath, bundle, 'get', 'roles', '--server', url]
    const terminal = onTerminal(command, { env: { ...env, ...who }, cwd: folder })
    await asked
    terminal.type('\u0003')
    expect(await terminal.exited).toBe(130)
    expect(terminal.screen()).not.toContain('Error')
  })

  /** Runs a line of bash in which `"$@"` is the program. */
  const inShell = async (line: string, words: readonly string[]) => {
    const { env, folder } = home()
    const child = spawn('bash', ['-c', line, 'bash', process.execPath, bundle, ...words], {
      env,
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let err = ''
    child.stderr.on('data', (text: Buffer) => {
      err += text
    })
    const [code] = await once(child, 'close')
    return { code, err }
  }

  it('of a reader who has seen enough is quiet', async () => {
    // `true` has left before the first word comes.
    const line = `"$@" | true; exit \${PIPESTATUS[0]}`
    expect(await inShell(line, ['get'])).toEqual({ code: 0, err: '' })
  })

  it.runIf(existsSync('/dev/full'))('on a full disk is told without a stack', async () => {
    for (const word of ['explain', '--version']) {
      const { code, err } = await inShell('"$@" > /dev/full', [word])
      expect(code).toBe(1)
      expect(err).toMatch(/^iamctl: standard output cannot be written: ENOSPC.*\n$/)
    }
  })
})

describe('colours', () => {
  const colour = '\u001b['

  it('are for terminals', async () => {
    const { env, folder } = home()
    const command = [process.execPath, bundle, 'get']
    const terminal = onTerminal(command, { env, cwd: folder })
    await terminal.exited
    expect(terminal.screen()).toContain(colour)
    const { stdout } = await home().run(['get'])
    expect(stdout).not.toContain(colour)
  })

  it.each([
    ['NO_COLOR', ['get'], { NO_COLOR: '1' }],
    ['--no-color', ['get', '--no-color'], {}],
    ['--no-color in front', ['--no-color', 'get'], {}],
    ['--no-color over FORCE_COLOR', ['get', '--no-color'], { FORCE_COLOR: '1' }],
  ])('are gone with %s', async (_, args, variables) => {
    const { env, folder } = home()
    const command = [process.execPath, bundle, ...args]
    const terminal = onTerminal(command, { env: { ...env, ...variables }, cwd: folder })
    await terminal.exited
    expect(terminal.screen()).toContain('WHAT IT IS')
    expect(terminal.screen()).not.toContain(colour)
  })
})
