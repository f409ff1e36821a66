/** Runs the loop: puts its parts together, takes the lock, and ends them in order. */

import { join } from 'node:path'
import { kinds } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import manifest from '../../../package.json' with { type: 'json' }
import { provenanceOf } from '../../apply/provenance.ts'
import { connect } from '../../client/connect.ts'
import { CommandError, type ExitCode, exitCodes } from '../../exit.ts'
import { sourceNameOf } from '../../load/estate.ts'
import { fileOptions, listOf } from '../../planning/estate/estate.ts'
import { estateOf } from '../../planning/estate/files.ts'
import { guardsOf } from '../../planning/guards.ts'
import type { Prune } from '../../planning/plan.ts'
import { takeLock } from '../../reconcile/lock.ts'
import { runLoop } from '../../reconcile/loop.ts'
import { pull } from '../../reconcile/pull.ts'
import type { RoundOptions, RoundReport } from '../../reconcile/round.ts'
import { openStatus } from '../../reconcile/status.ts'
import { note } from '../../views/human/elements/note.ts'
import { showRound } from '../../views/human/reconcile.ts'
import { printJsonLine } from '../../views/json/json.ts'
import { type Invocation, textOf } from '../invocation.ts'
import type { Listen } from '../reconcile.ts'
import { connectOptions } from './connection.ts'

const onlyOf = ({ flags }: Invocation): ReadonlySet<string> | null => {
  const names = listOf(flags['only'])
  const known = kinds.map(({ kind }) => kind)
  for (const name of names)
    if (!known.includes(name)) {
      const meant = nearest(name, known)
      throw new CommandError(exitCodes.error, `there is no kind "${name}"`, {
        hint: meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`,
      })
    }
  return names.length === 0 ? null : new Set(names)
}

/** The first signal ends it in order, a second one at once. */
const stopSignal = (onStop: () => void): AbortSignal => {
  const controller = new AbortController()
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143)
    controller.abort()
    onStop()
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  return controller.signal
}

const exitCodeOf = ({ outcome, error, realms }: RoundReport): ExitCode => {
  if (outcome === 'unchanged' || outcome === 'applied') return exitCodes.done
  if (outcome === 'invalid') return exitCodes.invalid
  const failure = error ?? realms.find((one) => one.error !== null)?.error
  return outcome === 'failed' ? (failure?.exitCode ?? exitCodes.error) : exitCodes.guarded
}

const roundOptions = (
  invocation: Invocation,
  paths: readonly string[],
): Omit<RoundOptions, 'engine' | 'pull' | 'isStopping'> => {
  const { flags, env } = invocation
  const files = fileOptions(invocation, paths)
  const { maxDeletions, message, prune } = flags
  const only = onlyOf(invocation)
  return {
    files,
    policyOf: (estate) => ({
      ...guardsOf(maxDeletions, estate),
      only,
      reportOnly: flags['reportOnly'] === true,
    }),
    pruneOf: (estate) => (prune as Prune | undefined) ?? estate.prune,
    sourceOf: (estate) => sourceNameOf(textOf(invocation, 'source', 'IAMCTL_SOURCE'), estate),
    provenance: () => provenanceOf(files.cwd, env, manifest.version),
    message: typeof message === 'string' ? message : 'reconcile',
    allowExec: flags['allowExec'] === true,
    allowEmpty: flags['allowEmpty'] === true,
    takeOver: flags['takeOver'] === true,
  }
}

export const reconcile = async (
  invocation: Invocation,
  paths: readonly string[],
): Promise<void> => {
  const { flags, env } = invocation
  if (paths.includes('-'))
    throw new CommandError(exitCodes.error, 'standard input can be read once only', {
      hint: 'name files or folders',
    })
  const options = roundOptions(invocation, paths)
  const intervalMs = Number(flags['interval'])
  const { root } = await estateOf(options.files)
  const lock = await takeLock(
    textOf(invocation, 'lockFile') ?? join(root, '.iamctl', 'reconcile.lock'),
    Math.max(600_000, 5 * intervalMs),
  )
  try {
    const address = flags['listen'] as Listen | undefined
    const stuckAfterMs = Math.max(900_000, 5 * intervalMs)
    const status = address ? await openStatus({ ...address, stuckAfterMs }) : null
    if (status)
      note(invocation, `health and metrics: http://${address?.host}:${status.port}/metrics`)
    const signal = stopSignal(() => note(invocation, 'stopping: what has begun is finished'))
    const connection = await connect(connectOptions(invocation))
    const last = await runLoop({
      round: {
        ...options,
        engine: connection.api,
        pull: flags['gitPull'] === true ? () => pull(root, env) : null,
        isStopping: () => signal.aborted,
      },
      intervalMs,
      once: flags['once'] === true,
      signal,
      lock,
      status,
      show: (report, nextInMs) => {
        if (invocation.output === 'json') printJsonLine({ ...report, nextInMs })
        else showRound(report, nextInMs)
      },
    })
    await connection.close()
    await status?.close()
    if (last !== null && flags['once'] === true) process.exitCode = exitCodeOf(last)
  } finally {
    await lock.release()
  }
}
