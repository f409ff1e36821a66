/** The built CLI, run to its end: with a home of its own, and with nothing of the environment that steers it. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { inject } from 'vitest'
import { canBeWarm, runWarm } from './warm/run.ts'

export const bundle = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url))

export interface CliResult {
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What it reads on stdin; nothing unless given. */
  readonly input?: string
}

export type Cli = (args: readonly string[], options?: CliOptions) => Promise<CliResult>

export interface Home {
  readonly folder: string
  /** What every run here gets, beside what the call gives. */
  readonly env: Readonly<Record<string, string>>
  readonly run: Cli
  readonly remove: () => void
}

const timeout = 60_000

/** Set for the project `process`: commands run in processes that have run others. */
const isWarm = process.env['IAMCTL_TEST_WARM'] === '1'

/** The first run of every command starts a process of its own, which has to load what the command needs. */
const hasRun = ([word = '']: readonly string[]): boolean => {
  const mark = join(inject('runFolder'), `has-run-${encodeURIComponent(word)}`)
  if (existsSync(mark)) return true
  writeFileSync(mark, '')
  return false
}

const inherited = ['PATH', 'TMPDIR', 'LANG'] as const

/** A new home folder. */
export const newHome = (
  env: Readonly<Record<string, string>> = {},
  parent: string = tmpdir(),
): Home => {
  const folder = mkdtempSync(join(parent, 'iamctl-home-'))
  const own: Record<string, string> = { HOME: folder, XDG_CONFIG_HOME: join(folder, '.config') }
  for (const name of inherited) {
    const value = process.env[name]
    if (value !== undefined) own[name] = value
  }
  const all = { ...own, ...env }
  return {
    folder,
    env: all,
    run: async (args, { env: more = {}, cwd = folder, input } = {}) => {
      const command = { script: bundle, args, cwd, env: { ...all, ...more } }
      if (isWarm && input === undefined && canBeWarm(command) && hasRun(args))
        return runWarm(command, timeout)
      const { exitCode, stdout, stderr } = await execa(process.execPath, [bundle, ...args], {
        env: command.env,
        extendEnv: false,
        cwd,
        reject: false,
        stripFinalNewline: false,
        timeout,
        ...(input === undefined ? { stdin: 'ignore' } : { input }),
      })
      return { code: exitCode, stdout, stderr }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
