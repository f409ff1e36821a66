/** Chooses how to sign in: by flags, by the context, or by the capabilities of this machine. */

import type { Env, SignIn } from '../context/store.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { canOpenBrowser } from './open-browser.ts'

export interface SignInFlags {
  readonly device: boolean
  readonly workload: boolean
  readonly withPassword: boolean
  readonly passwordFile: string | undefined
}

export interface Circumstances {
  readonly flags: SignInFlags
  readonly env: Env
  /** A password was given, by variable or file. */
  readonly hasPassword: boolean
  /** Standard output is a terminal. */
  readonly isTerminal: boolean
  /** Of the context. */
  readonly before: SignIn | undefined
}

const asSaid = ({ flags, hasPassword }: Circumstances): SignIn | undefined => {
  const said: SignIn[] = [
    ...(flags.workload ? ['workload' as const] : []),
    ...(flags.device ? ['device' as const] : []),
    ...(flags.withPassword || flags.passwordFile !== undefined ? ['password' as const] : []),
  ]
  if (said.length > 1)
    throw new CommandError(
      exitCodes.error,
      '--workload, --device and a password exclude each other',
      { hint: 'give one of --workload, --device, and --with-password or --password-file' },
    )
  return said[0] ?? (hasPassword ? 'password' : undefined)
}

/** A variable of this name is set by the systems that run pipelines. */
const isPipeline = ({ env, isTerminal }: Circumstances): boolean =>
  !isTerminal && !env['BROWSER'] && /^(1|true)$/i.test(env['CI'] ?? '')

export const chooseSignIn = (circumstances: Circumstances): SignIn => {
  const said = asSaid(circumstances)
  if (said !== undefined) return said
  if (isPipeline(circumstances))
    throw new CommandError(
      exitCodes.error,
      'a sign-in with a browser is not possible in a pipeline',
      {
        hint: 'use `iamctl login --workload`; or set IAMCTL_CLIENT_ID and IAMCTL_CLIENT_SECRET, or IAMCTL_USERNAME (--username) and IAMCTL_PASSWORD; login is not needed then',
      },
    )
  const { before, env, isTerminal } = circumstances
  if (before === 'device' || before === 'workload') return before
  return canOpenBrowser(env, isTerminal) ? 'browser' : 'device'
}
