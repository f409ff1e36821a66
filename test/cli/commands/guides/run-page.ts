/**
 * Runs the steps of a page in order, in one temporary folder, against a server of its own. Variables, exports and the
 * working directory persist from block to block, as in the terminal of a reader.
 */
import { execFile, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { bundle, newHome } from '../../../support/processes/cli.ts'
import { freePort } from '../../../support/processes/ports.ts'
import {
  adminPassword,
  startServerProcess,
  temporaryFolder,
  withKeyPairs,
} from '../../../support/processes/server-process.ts'
import { credentials } from '../fixture/fixture.ts'
import { type Command, type Step, stepsOf } from './blocks.ts'

interface Shell {
  /** Folder with the variables and the working directory after the last block. */
  readonly state: string
  readonly env: Readonly<Record<string, string>>
  /** The port that the page calls 8080. */
  readonly port: number
}

/** A page that starts the server itself has this line. */
const ownServer = '<!-- run: no server -->'

const newShell = async (): Promise<Shell> => {
  const tools = temporaryFolder()
  const program = join(tools, 'iamctl')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${bundle}' "$@"\n`)
  chmodSync(program, 0o755)
  const state = temporaryFolder()
  writeFileSync(join(state, 'variables'), '')
  writeFileSync(join(state, 'folder'), temporaryFolder())
  const port = await freePort()
  const home = newHome({
    ...credentials,
    ...withKeyPairs(),
    IAMCTL_SERVER: `http://127.0.0.1:${port}`,
    STATE: state,
    PATH: `${tools}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  })
  onTestFinished(home.remove)
  return { state, env: home.env, port }
}

const withPort = ({ port }: Shell, text: string): string => text.replaceAll('8080', String(port))

const prelude = `set -ea; exec 2>&1; . "$STATE/variables"; cd "$(cat "$STATE/folder")"
trap 'export -p > "$STATE/variables"; pwd > "$STATE/folder"' EXIT
`

const run = (shell: Shell, { text }: Command): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const { env, port } = shell
    const script = prelude + withPort(shell, text)
    execFile('sh', ['-c', script], { env, timeout: 90_000 }, (error, stdout) => {
      const code = error === null ? 0 : Number(error.code ?? -1)
      resolve({ code, output: stdout.replace(new RegExp(`\\b${port}\\b`, 'g'), '8080') })
    })
  })

/** Until the line appears; the process group ends with the test. */
const runInBackground = async (shell: Shell, command: Command, until: string): Promise<void> => {
  const text = prelude + withPort(shell, command.text)
  const child = spawn('sh', ['-c', text], {
    env: shell.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const exited = new Promise<void>((ended) => child.once('close', () => ended()))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    output += part
    if (output.includes(until)) resolve()
  })
  const early = (): void => reject(new Error(`line ${command.line}: ended early\n${output}`))
  exited.then(early, reject)
  onTestFinished(async () => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await exited
  })
  await promise
}

/** Times and ids differ from run to run. */
const settled = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '2026-01-01T00:00:00Z')
    .replace(/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g, 'ID')

const escaped = (text: string): string =>
  text
    .split('…')
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('.*')

/** A line `…` stands for any lines, `…` within a line for any text. */
export const fitsOutput = (expected: readonly string[], output: string): boolean => {
  const lines = expected.map((line) => (line === '…' ? '(?:.*\n)*?' : `${escaped(line)} *\n`))
  return new RegExp(`^${lines.join('')}$`).test(output === '' ? '' : `${output.trimEnd()}\n`)
}

const check = async (shell: Shell, command: Command): Promise<void> => {
  const { code, output } = await run(shell, command)
  const where = `line ${command.line}: ${command.text.trim()}\n${output}`
  if (code !== command.exit)
    throw new Error(`exit code ${code} instead of ${command.exit}\n${where}`)
  const expected = command.output?.map(settled)
  if (expected !== undefined && !fitsOutput(expected, settled(output)))
    throw new Error(`output differs from the page\n${where}\nThe page:\n${expected.join('\n')}`)
}

const take = async (shell: Shell, step: Step): Promise<void> => {
  if (step.type === 'command') return check(shell, step)
  if (step.type === 'background') return runInBackground(shell, step, step.until)
  if (step.type === 'file') {
    const path = join(readFileSync(join(shell.state, 'folder'), 'utf8').trim(), step.name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, withPort(shell, step.text))
  }
}

export const runPage = async (page: string): Promise<void> => {
  const steps = stepsOf(page.replace(`${ownServer}\n`, ''))
  if (steps.every(({ type }) => type === 'not-run')) return
  const shell = await newShell()
  if (!page.includes(ownServer)) {
    const env = { IAMCTL_BOOTSTRAP_ADMIN_PASSWORD: adminPassword }
    const data = join(temporaryFolder(), 'data')
    const server = await startServerProcess(
      { args: ['--data', data], env },
      '--port',
      String(shell.port),
    )
    onTestFinished(async () => {
      await server.stop()
    })
  }
  for (const step of steps) await take(shell, step)
}
