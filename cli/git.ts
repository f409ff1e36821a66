/**
 * Git in a checkout whose content others can change. What a repository, or a folder in it that looks like a bare one, could make
 * git run is switched off: hooks (core.hooksPath may lead into the checkout), the monitor of files, submodules, and transports
 * that are commands (CVE-2022-24765, CVE-2018-17456, git-config(1) safe.bareRepository).
 */

import { withoutOwnCredentials } from './context/own-credentials.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface GitOutcome {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
  readonly isTimedOut: boolean
  /** Git is not installed. */
  readonly isMissing: boolean
}

const settings = [
  'safe.bareRepository=explicit',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'protocol.ext.allow=never',
].flatMap((setting) => ['-c', setting])

export const runGit = async (
  folder: string,
  env: Env,
  timeout: number,
  ...args: readonly string[]
): Promise<GitOutcome> => {
  const { execa } = await import('execa')
  const { failed, stdout, stderr, timedOut, code } = await execa('git', [...settings, ...args], {
    cwd: folder,
    // Git must not prompt for a password.
    env: { ...withoutOwnCredentials(env), GIT_TERMINAL_PROMPT: '0' },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    timeout,
  })
  return { failed, stdout, stderr, isTimedOut: timedOut, isMissing: code === 'ENOENT' }
}
