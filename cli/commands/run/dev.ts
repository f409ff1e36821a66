/** Runs a development server in the view that fits: a dashboard on a terminal, lines elsewhere. */

import manifest from '../../../package.json' with { type: 'json' }
import type { DevFiles } from '../../dev/files.ts'
import type { Controls, DevView } from '../../dev/happenings.ts'
import { runDev } from '../../dev/session.ts'
import { CommandError, exitCodes } from '../../exit.ts'
import { hasScreen } from '../../views/human/dev/screen.ts'
import { type Invocation, textOf } from '../invocation.ts'

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [])

/** Who asks for no colours, or is a pipeline, wants lines that stay where they are. */
const wantsLines = ({ env, flags }: Invocation): boolean =>
  flags['color'] === false || [env['NO_COLOR'], env['CI']].some((value) => value)

const openView =
  (invocation: Invocation) =>
  async (controls: Controls): Promise<DevView> => {
    if (invocation.output === 'json')
      return (await import('../../views/json/dev.ts')).openJsonView()
    if (hasScreen() && !wantsLines(invocation))
      return (await import('../../views/human/dev/dashboard.tsx')).openDashboard(controls)
    return (await import('../../views/human/dev/plain.ts')).openPlainView()
  }

const openFiles =
  (invocation: Invocation, paths: readonly string[]) => async (): Promise<DevFiles> => {
    const { openDevFiles } = await import('../../dev/files.ts')
    const { flags } = invocation
    return openDevFiles({
      paths,
      overlays: listOf(flags['overlay']),
      vars: listOf(flags['var']),
      varFiles: listOf(flags['varFile']),
      cwd: process.cwd(),
      config: textOf(invocation, 'config', 'IAMCTL_CONFIG'),
      source: textOf(invocation, 'source', 'IAMCTL_SOURCE'),
      allowExec: flags['allowExec'] === true,
      version: manifest.version,
    })
  }

export const dev = async (invocation: Invocation, paths: readonly string[]): Promise<void> => {
  const { flags, env } = invocation
  const [, entry] = process.argv
  if (entry === undefined) throw new Error('the program does not know its own file')
  if (paths.includes('-'))
    throw new CommandError(exitCodes.error, 'standard input cannot be watched', {
      hint: 'name files or folders',
    })
  await runDev({
    entry,
    version: manifest.version,
    env,
    port: typeof flags['port'] === 'number' ? flags['port'] : undefined,
    keep: flags['keep'] === true,
    reset: flags['reset'] === true,
    openFiles: openFiles(invocation, paths),
    openView: openView(invocation),
  })
}
