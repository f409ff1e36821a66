/**
 * A run of a target: looks at what changed, asks the guard, and sends. One run of a target is under way at a time, on whatever node
 * (the lane of its job); it ends when nothing is due. A target that cannot be reached is left alone for longer and longer, for
 * weeks: what it has to get waits in the rows of its resources.
 */

import { ScimTarget } from '#schemas/kinds/provisioning/scim-target.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { systemCaller } from '#server/http/caller.ts'
import type { JobHandler, Outcome } from '#server/jobs/job.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy, RealmView } from '#server/storage/documents/copy.ts'
import { createFreeName } from './free-name.ts'
import { createSendGroups } from './groups/send-groups.ts'
import { allowanceOf, heldReason } from './guard.ts'
import { markChanges } from './mark-changes.ts'
import type { AccessTokens } from './protocol/access-tokens.ts'
import { createScimClient, type ScimClient } from './protocol/client.ts'
import { ScimRefusal } from './protocol/refusal.ts'
import { createRequestRate } from './protocol/request-rate.ts'
import { createSendUser, type Done } from './send-user.ts'
import { createSendUsers } from './send-users.ts'
import type { SentMembers } from './state/members.ts'
import type { Resources } from './state/resources.ts'
import type { Standings } from './state/standings.ts'
import { type ScimTargetInUse, targetOf } from './target.ts'
import { userNameOf } from './wanted.ts'

export const scimQueue = 'scim-out'

export interface RunParts {
  readonly storage: Pick<Storage, 'db' | 'commit'>
  readonly copy: Pick<Copy, 'fresh'>
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly vault: Pick<Vault, 'reveal'>
  readonly recorder: Pick<Recorder, 'append'>
  readonly metrics: Pick<Metrics, 'scimSent'>
  readonly resources: Resources
  readonly members: SentMembers
  readonly standings: Standings
  readonly tokens: AccessTokens
}

const second = 1000
const minute = 60 * second
/** Users or groups that are read, and remembered as sent, at once. */
const partSize = 100
const longestRetryAfter = 24 * 60 * minute

/** The run begins anew: the document of the target was changed meanwhile, or more removals came than the guard was asked about. */
class RunAgain extends Error {
  override readonly name = 'RunAgain'
}

/** A quarter of an hour again and again: about two months. */
const runWaits: readonly number[] = [
  5 * second,
  15 * second,
  minute,
  2 * minute,
  5 * minute,
  ...Array.from({ length: 6000 }, () => 15 * minute),
]

const counts = ['created', 'adopted', 'updated', 'deactivated', 'deleted', 'failed'] as const

const createTally = (count: (done: string) => void) => {
  const tally = new Map<string, number>()
  return {
    count: (done: Done | 'failed'): void => {
      if (done === 'unchanged') return
      tally.set(done, (tally.get(done) ?? 0) + 1)
      count(done)
    },
    words: (): string =>
      counts
        .filter((word) => tally.has(word))
        .map((word) => `${tally.get(word)} ${word}`)
        .join(', '),
  }
}

type Tally = ReturnType<typeof createTally>

export const clientOf = (
  { outgoing, tokens, clock }: Pick<RunParts, 'outgoing' | 'tokens' | 'clock'>,
  target: ScimTargetInUse,
  signal?: AbortSignal,
): ScimClient =>
  createScimClient(target, {
    request: outgoing.request,
    tokens,
    awaitTurn: createRequestRate(target.doc.rateLimit ?? target.profile.perSecond),
    now: () => clock.now(),
    signal,
  })

export const scimRuns = (parts: RunParts): JobHandler => {
  const { storage, copy, clock, vault, recorder, metrics, resources, members, standings } = parts
  const now = (): number => clock.now()

  const eventOf = (target: ScimTargetInUse, outcome: AuditEvent['outcome'], detail: string) =>
    ({
      type: 'ADMIN_ACTION',
      realm: target.realm,
      actor: systemCaller.actor,
      sourceIp: systemCaller.sourceIp,
      outcome,
      resourceType: ScimTarget.resourceType,
      resourceId: target.id,
      detail,
    }) as const

  /** Between the parts of a run: a target that is disabled is sent nothing more. */
  const insistOn = async ({ realm, id, version }: ScimTargetInUse): Promise<void> => {
    const document = await (await copy.fresh(realm))?.byId(ScimTarget.kind, id)
    if (document?.version !== version) throw new RunAgain()
  }

  const sendAllUsers = async (
    target: ScimTargetInUse,
    view: RealmView,
    client: ScimClient,
    tally: Tally,
    signal: AbortSignal,
  ): Promise<void> => {
    const standing = await standings.read(target.id)
    if (!standing) return
    const { limit, held } = await allowanceOf({ storage, view, target }, resources, standing)
    const removals = { areHeld: held.length > 0, left: limit }
    const isTaken = async (remoteId: string, localId: string): Promise<boolean> => {
      const rows = await resources.byRemoteIds(target.id, 'user', [remoteId])
      return rows.some(({ local_id }) => local_id !== localId)
    }
    const freeName = createFreeName({
      storage,
      target,
      resources,
      client,
      kind: 'user',
      nameOf: (id) => userNameOf({ storage, view, target }, id),
    })
    const sendPart = createSendUsers({
      storage,
      view,
      target,
      client,
      resources,
      members,
      now,
      signal,
      send: createSendUser({ target, client, freeName, isTaken }),
      count: tally.count,
    })
    let kept = 0
    for (;;) {
      const rows = await resources.due(target.id, 'user', now(), partSize)
      if (rows.length === 0) break
      await insistOn(target)
      const sent = await sendPart(rows, removals)
      if (sent.isUsedUp) throw new RunAgain()
      kept += sent.held
    }
    const isNews = kept > 0 && standing.held === 0
    const reason = heldReason(kept, limit, target.name)
    if (isNews) await recorder.append([], [eventOf(target, 'FAILURE', reason)])
    if (kept > 0 || standing.held > 0 || standing.removals_allowed !== null)
      await storage.commit([
        standings.change(target.id, {
          held: kept,
          removals_allowed: null,
          ...(kept > 0 ? { error: reason, error_at: now() } : {}),
        }),
      ])
  }

  const sendAllGroups = async (
    target: ScimTargetInUse,
    view: RealmView,
    client: ScimClient,
    tally: Tally,
    signal: AbortSignal,
  ): Promise<void> => {
    const sendPart = createSendGroups({
      storage,
      view,
      target,
      client,
      resources,
      members,
      now,
      signal,
      count: tally.count,
    })
    for (;;) {
      const rows = await resources.due(target.id, 'group', now(), partSize)
      if (rows.length === 0) return
      await insistOn(target)
      await sendPart(rows)
    }
  }

  const finish = async (target: ScimTargetInUse): Promise<Outcome> => {
    const standing = await standings.read(target.id)
    await storage.commit([
      standings.change(target.id, {
        synced_at: now(),
        ...(standing?.held === 0 ? { error: null, error_at: null } : {}),
      }),
    ])
    const kinds = [
      ...(target.doc.syncUsers ? (['user'] as const) : []),
      ...(target.sendsGroups ? (['group'] as const) : []),
    ]
    const next = await resources.nextDue(target.id, kinds)
    return next === undefined
      ? { kind: 'done' }
      : { kind: 'again', afterMs: Math.max(0, next - now()) }
  }

  const run = async (
    target: ScimTargetInUse,
    view: RealmView,
    tally: Tally,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    // Before anything is read: news that come later ask for another run.
    await storage.commit([standings.turn(target)])
    const before = await standings.read(target.id)
    if (!before) return { kind: 'done' }
    if (target.problem !== undefined) {
      await storage.commit([
        standings.change(target.id, { error: target.problem, error_at: now() }),
      ])
      return { kind: 'done' }
    }
    await markChanges({ storage, view, target, resources, members, standings, signal }, before)
    const client = clientOf(parts, target, signal)
    try {
      if (target.doc.syncUsers) await sendAllUsers(target, view, client, tally, signal)
      if (target.sendsGroups) await sendAllGroups(target, view, client, tally, signal)
      return await finish(target)
    } catch (error) {
      if (error instanceof RunAgain) return { kind: 'again', afterMs: 0 }
      if (!(error instanceof ScimRefusal)) throw error
      await storage.commit([standings.change(target.id, { error: error.message, error_at: now() })])
      const asked = Math.min(error.retryAfterMs ?? 0, longestRetryAfter)
      return { kind: 'retry', reason: error.message, ...(asked > 0 ? { afterMs: asked } : {}) }
    }
  }

  return {
    queue: scimQueue,
    perTarget: 1,
    atOnce: 16,
    ordered: true,
    leaseMs: 15 * second,
    waits: runWaits,
    jitter: 0.1,
    run: async (job, signal) => {
      const view = await copy.fresh(job.realm ?? '')
      const document = await view?.byId(ScimTarget.kind, job.target)
      const target = document && targetOf(document, vault)
      if (!view || !target?.doc.enabled) return { kind: 'done' }
      const tally = createTally((done) => metrics.scimSent(target.realm, target.name, done))
      try {
        return await run(target, view, tally, signal)
      } finally {
        const words = tally.words()
        if (words !== '')
          await recorder.append([], [eventOf(target, 'SUCCESS', `provisioned: ${words}`)])
      }
    },
  }
}
