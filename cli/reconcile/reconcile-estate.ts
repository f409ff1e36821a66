/** The run of `iamctl reconcile`: assembles the loop, takes the lock, and ends both in order. */

import { join } from 'node:path'
import { kinds } from '#schemas/registry.ts'
import { nearest } from '#schemas/text/typos.ts'
import manifest from '../../package.json' with { type: 'json' }
import { provenanceOf } from '../apply/provenance.ts'
import type { Connection } from '../client/connect.ts'
import { CommandError, type ExitCode, exitCodes } from '../exit.ts'
import { sourceNameOf } from '../load/estate.ts'
import { estateOf, type FileOptions } from '../planning/estate/files.ts'
import { guardsOf } from '../planning/guards.ts'
import type { Prune } from '../planning/plan.ts'
import { takeLock } from './lock.ts'
import { runLoop } from './loop.ts'
import { pull } from './pull.ts'
import type { RoundOptions, RoundReport } from './round.ts'
import { openStatus } from './status.ts'

export interface Listen {
  readonly host: string
  readonly port: number
}

export interface ReconcileFlags {
  readonly interval: number
  readonly once: boolean
  readonly gitPull: boolean
  readonly reportOnly: boolean
  readonly only: readonly string[]
  readonly prune: Prune | undefined
  readonly maxDeletions: number | undefined
  readonly takeOver: boolean
  readonly allowEmpty: boolean
  readonly allowExec: boolean
  readonly listen: Listen | undefined
  readonly lockFile: string | undefined
  readonly message: string | undefined
  readonly source: string | undefined
}

export interface ReconcileRequest {
  readonly flags: ReconcileFlags
  readonly files: FileOptions
  readonly connect: () => Promise<Connection>
  readonly note: (words: string) => void
  readonly show: (report: RoundReport, nextInMs: number | null) => void
}

const onlyOf = (names: readonly string[]): ReadonlySet<string> | null => {
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

const roundOptions = ({
  flags,
  files,
}: ReconcileRequest): Omit<RoundOptions, 'engine' | 'pull' | 'isStopping'> => {
  const { maxDeletions, reportOnly, prune, source, message = 'reconcile' } = flags
  const { allowExec, allowEmpty, takeOver } = flags
  const only = onlyOf(flags.only)
  return {
    files,
    policyOf: (estate) => ({ ...guardsOf(maxDeletions, estate), only, reportOnly }),
    pruneOf: (estate) => prune ?? estate.prune,
    sourceOf: (estate) => sourceNameOf(source, estate),
    provenance: () => provenanceOf(files.cwd, files.env, manifest.version),
    message,
    allowExec,
    allowEmpty,
    takeOver,
  }
}

/** Undefined unless one round was asked for. */
export const reconcileEstate = async (request: ReconcileRequest): Promise<ExitCode | undefined> => {
  const { flags, files, note } = request
  if (files.paths.includes('-'))
    throw new CommandError(exitCodes.error, 'standard input can be read once only', {
      hint: 'name files or folders',
    })
  const options = roundOptions(request)
  const { interval: intervalMs, once, listen: address } = flags
  const { root } = await estateOf(files)
  const lock = await takeLock(
    flags.lockFile ?? join(root, '.iamctl', 'reconcile.lock'),
    Math.max(600_000, 5 * intervalMs),
  )
  try {
    const stuckAfterMs = Math.max(900_000, 5 * intervalMs)
    const status = address ? await openStatus({ ...address, stuckAfterMs }) : null
    if (status) note(`health and metrics: http://${address?.host}:${status.port}/metrics`)
    const signal = stopSignal(() => note('stopping: what has begun is finished'))
    const connection = await request.connect()
    const last = await runLoop({
      round: {
        ...options,
        engine: connection.api,
        pull: flags.gitPull ? () => pull(root, files.env) : null,
        isStopping: () => signal.aborted,
      },
      intervalMs,
      once,
      signal,
      lock,
      status,
      show: request.show,
    })
    await connection.close()
    await status?.close()
    return last !== null && once ? exitCodeOf(last) : undefined
  } finally {
    await lock.release()
  }
}
