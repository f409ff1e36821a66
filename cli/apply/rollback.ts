/** Makes a realm what it was: shows what that changes and what comes back without its secret, asks, and sends it. */

import type { ChangesetReply, MissingSecret } from '#schemas/wire/wire.ts'
import type { Api } from '../client/api.ts'
import { CommandError, exitCodes } from '../exit.ts'
import { underWay } from '../interruption.ts'
import { nameOf } from '../planning/names.ts'
import { approve } from '../views/human/estate/approval.ts'
import { secretsFrom } from './rollback-secrets.ts'

export interface RollbackFlags {
  readonly plan: boolean
  readonly autoApprove: boolean
  readonly message: string | undefined
  readonly secretsFrom: string | undefined
  readonly allowExec: boolean
  readonly dropSecrets: boolean
  readonly config: string | undefined
}

export interface RollbackCall {
  readonly flags: RollbackFlags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly quiet: boolean
}

export type Trial = Awaited<ReturnType<Api['rollback']>>

export interface RollbackView {
  /** What would change, before the confirmation. */
  readonly preview: (
    trial: Trial,
    about: { realm: string; revision: number; quiet: boolean },
  ) => void
  /** Nothing was to change, or only that was asked for. */
  readonly ended: (trial: Trial) => void
  readonly applied: (realm: string, reply: ChangesetReply) => void
}

/** A document that cannot work afterwards is left so on purpose only. */
const refuseMoved = (missing: readonly MissingSecret[]): void => {
  const moved = missing.filter(({ reason }) => reason === 'moved')
  if (moved.length === 0) return
  throw new CommandError(
    exitCodes.invalid,
    `missing secrets of ${moved.map(({ kind, key }) => nameOf(kind, key)).join(', ')}; nothing was changed`,
    { hint: 'give --secrets-from PATH, or restore the documents without secrets: --drop-secrets' },
  )
}

const givenSecrets = async (
  { flags, env }: RollbackCall,
  realm: string,
  { missing }: Trial,
): Promise<Awaited<ReturnType<typeof secretsFrom>>> => {
  const { secretsFrom: path, allowExec, config } = flags
  if (path === undefined || !missing) return []
  const files = { paths: [path], overlays: [], vars: [], varFiles: [], cwd: process.cwd() }
  return secretsFrom({ ...files, config, env, serverChecks: true }, realm, missing, {
    env,
    allowExec,
  })
}

export const rollBack = async (
  call: RollbackCall,
  { api, realm }: { readonly api: Api; readonly realm: string },
  revision: number,
  view: RollbackView,
): Promise<void> => {
  const { plan, autoApprove, message, dropSecrets } = call.flags
  const first = await api.rollback(realm, revision, { dryRun: true })
  const secrets = await givenSecrets(call, realm, first)
  const given = secrets.length === 0 ? {} : { secrets }
  const trial =
    secrets.length === 0 ? first : await api.rollback(realm, revision, { dryRun: true, ...given })
  view.preview(trial, { realm, revision, quiet: call.quiet })
  if (plan || trial.changes.length === 0) return view.ended(trial)
  if (!dropSecrets) refuseMoved(trial.missing ?? [])
  if (!autoApprove)
    await approve(
      `Do you want to take realm ${realm} back to revision ${revision}?`,
      trial.deleted > 0 ? [realm] : [],
    )
  const reply = await underWay({ realm, baseRevision: trial.revision }, () =>
    api.rollback(realm, revision, {
      // What was shown is what is done, or nothing.
      baseRevision: trial.revision,
      ...given,
      ...(dropSecrets ? { dropSecrets } : {}),
      ...(message === undefined ? {} : { message }),
    }),
  )
  view.applied(realm, reply)
}
