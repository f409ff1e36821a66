/** `git pull`, fast-forward only: local commits are neither merged nor lost. */

import { harmless } from '../control-characters.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { runGit } from '../git.ts'

const longest = 120_000
const mostShown = 1000

export interface Pulled {
  readonly before: string | null
  readonly commit: string | null
}

type Env = Readonly<Record<string, string | undefined>>

const commitIn = async (folder: string, env: Env): Promise<string | null> => {
  const { stdout, failed } = await runGit(folder, env, longest, 'rev-parse', 'HEAD')
  return failed || stdout === '' ? null : stdout
}

/** A remote may carry a password or a token. */
const withoutCredentials = (text: string): string =>
  text.replaceAll(/([a-z+]+:\/\/)[^/@\s]*@/gi, '$1')

export const pull = async (folder: string, env: Env): Promise<Pulled> => {
  const before = await commitIn(folder, env)
  const ended = await runGit(
    folder,
    env,
    longest,
    'pull',
    '--ff-only',
    '--quiet',
    '--no-recurse-submodules',
  )
  if (ended.failed) {
    const said = withoutCredentials(ended.stderr.trim()).slice(0, mostShown)
    throw new CommandError(
      exitCodes.error,
      ended.isTimedOut
        ? `git pull did not end within ${longest / 1000} s`
        : `git pull failed in ${harmless(folder)}${ended.isMissing ? ': git is not installed' : ''}`,
      said === '' ? {} : { hint: said.split('\n').map(harmless).join('\n') },
    )
  }
  return { before, commit: await commitIn(folder, env) }
}
