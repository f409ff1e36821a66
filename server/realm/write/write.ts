/**
 * The ONE write path. Everything that changes a document comes through here: gather, decide, prepare, commit.
 * A conflict decides again; a dry run stops before the commit. Writes of this process to one realm queue up, so
 * that they do not make each other decide twice; other processes are met by the guards of the commit.
 */

import { Problem } from '#schemas/problems.ts'
import type { Recorder } from '#server/audit/audit.ts'
import type { AuditEvent } from '#server/audit/event.ts'
import { type Caller, doneBy, refuseUnlessDry } from '#server/http/caller.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import {
  ConstraintError,
  GuardFailedError,
  type Statement,
  type Storage,
} from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { insertRows } from '#server/storage/statements.ts'
import type { Behaviours } from '../behaviours/behaviour.ts'
import type { LastAdmin } from '../rules/last-admin.ts'
import { validateDocument } from '../rules/validate.ts'
import { commitOf } from './commit.ts'
import { decide } from './decide.ts'
import type { Drafts } from './drafts.ts'
import type { Effect } from './effects.ts'
import { emptySnapshot, gather, type Snapshot } from './gather.ts'
import type { Operation, WriteChannel } from './operations.ts'
import { prepare } from './prepare.ts'
import { createQueue } from './queue.ts'

export interface WriteRequest {
  readonly realm: string
  readonly operations: readonly Operation[]
  readonly caller: Caller
  readonly channel: WriteChannel
  readonly message?: string
  readonly provenance?: Readonly<Record<string, unknown>>
  /** Decide only; nothing is written. */
  readonly dryRun?: boolean
  /** The realm does not exist yet and is made by this write. */
  readonly createRealm?: boolean
  /** The revision that it was made for; where the realm is at another, `moved` throws unless it may go on. */
  readonly base?: {
    readonly revision: number
    readonly moved: (revision: number) => Promise<void>
  }
  /** Data that must be written in the same transaction, given the documents and the revision afterwards. */
  readonly alongside?: (effects: readonly Effect[], revision: number) => Alongside
}

export interface Alongside {
  /** What must hold before any document is written. */
  readonly guards?: readonly Statement[]
  readonly statements: readonly Statement[]
  readonly events: readonly AuditEvent[]
}

/** A guard of data that is written alongside: its failure is thrown, since a new decision would fail again. */
const isFinal = (guard: string): boolean => guard.startsWith('final:')

export interface WriteOutcome {
  readonly revision: number
  readonly effects: readonly Effect[]
  /** The realm as it is afterwards, as far as the operations reach. */
  readonly drafts: Drafts
}

export interface Writer {
  write(request: WriteRequest): Promise<WriteOutcome>
}

export interface WriterParts {
  readonly storage: Storage
  readonly recorder: Recorder
  readonly copy: Copy
  readonly clock: Clock
  readonly vault: Vault
  readonly behaviours: Behaviours
  readonly lastAdmin: Pick<LastAdmin, 'afterDocuments'>
}

/** Attempts of a write before it reports a conflict; each one means a concurrent write succeeded. */
const rounds = 50
/** Names of users are looked up beforehand; after a collision a new decision names the holder. */
const roundsForNames = 3

/** Whether the commit failed because something moved since the snapshot was read, and how often it may decide. */
const roundsAfter = (error: unknown): number => {
  if (error instanceof GuardFailedError) return isFinal(error.guard) ? 0 : rounds
  if (!(error instanceof ConstraintError)) return 0
  if (['documents', 'document_refs'].includes(error.table)) return rounds
  return ['users', 'user_names'].includes(error.table) ? roundsForNames : 0
}

const pause = (round: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, Math.random() * Math.min(4 * round, 100))
  })

export const createWriter = (parts: WriterParts): Writer => {
  const { storage, recorder, copy, clock, vault, behaviours, lastAdmin } = parts
  const queue = createQueue()

  const sameSecret = (document: StoredDocument, pointer: string, plain: string): boolean =>
    vault.matches(document, pointer, document.secrets[pointer], plain)

  const snapshotFor = async ({
    realm,
    operations,
    createRealm,
  }: WriteRequest): Promise<Snapshot> => {
    const snapshot = createRealm ? emptySnapshot : await gather(storage.db, realm, operations)
    if (!snapshot) throw new Problem('not-found', `there is no realm "${realm}"`)
    return snapshot
  }

  const attempt = async (request: WriteRequest): Promise<WriteOutcome> => {
    const { realm, caller, channel, base, dryRun = false } = request
    refuseUnlessDry(caller, dryRun)
    const snapshot = await snapshotFor(request)
    if (base && base.revision !== snapshot.revision) await base.moved(snapshot.revision)
    const { changed, drafts } = await decide(snapshot, request.operations, {
      caller,
      channel,
      behaviours,
      newId,
      validate: validateDocument,
      sameSecret,
    })
    const now = clock.now()
    const { effects, beside } = await prepare(
      changed,
      { realm, db: storage.db, drafts, caller, channel, now, dryRun },
      { behaviours, vault },
    )
    const kept = await lastAdmin.afterDocuments(realm, effects, () => copy.fresh(realm))
    if (dryRun) return { revision: snapshot.revision, effects, drafts }
    if (effects.length === 0) {
      const alongside = request.alongside?.(effects, snapshot.revision)
      if (alongside)
        await recorder.commit(
          [...(alongside.guards ?? []), ...alongside.statements],
          alongside.events,
        )
      return { revision: snapshot.revision, effects, drafts }
    }
    const commit = commitOf(effects, {
      storage,
      realm,
      drafts,
      beside,
      now,
      baseRevision: snapshot.revision,
      by: doneBy(caller),
      channel,
      message: request.message ?? null,
      provenance: request.provenance ? JSON.stringify(request.provenance) : null,
    })
    const alongside = request.alongside?.(effects, commit.revision)
    await recorder.commit(
      [
        ...(request.createRealm
          ? insertRows(storage.db, 'realms', [
              { name: realm, revision: 0, seq: 0, created_at: now },
            ])
          : []),
        ...(alongside?.guards ?? []),
        ...commit.statements,
        ...(alongside?.statements ?? []),
        ...kept,
      ],
      [...commit.events, ...(alongside?.events ?? [])],
    )
    await copy.follow(realm)
    return { revision: commit.revision, effects, drafts }
  }

  const persist = async (request: WriteRequest): Promise<WriteOutcome> => {
    for (let round = 1; ; round += 1)
      try {
        return await attempt(request)
      } catch (error) {
        if (error instanceof ConstraintError && error.table === 'realms')
          throw new Problem('conflict', `realm "${request.realm}" exists already`, { cause: error })
        const most = roundsAfter(error)
        if (most === 0) throw error
        if (round >= most)
          throw new Problem('conflict', 'the realm keeps changing; try again', { cause: error })
        await pause(round)
      }
  }

  return {
    write: (request) => {
      // One at a time too: a large one needs memory, and two in parallel are not faster.
      if (request.dryRun) return queue(`dry run\n${request.realm}`, () => attempt(request))
      if (request.channel.origin === 'runtime') return persist(request)
      return queue(request.realm, () => persist(request))
    },
  }
}
