/**
 * Changesets: a list of operations that becomes one revision of a realm, or nothing. The body is spooled while no lock
 * is held, read and checked in slices, decided on the revision it was made for, and committed in one transaction.
 */

import { createAjv, lazyValidator } from '#schemas/ajv.ts'
import { isObject, jsonSchemaOf } from '#schemas/json-schema.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { type ChangesetHead, type ChangesetReply, changesetHead } from '#schemas/wire/wire.ts'
import { type Caller, refuseUnlessDry } from '#server/http/caller.ts'
import type { Clock } from '#server/platform/clock.ts'
import { type Spool, spool } from '#server/platform/spool.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { textErrors } from '#server/storage/values.ts'
import type { Realms } from '../realms.ts'
import { refuseUnlessMayWrite } from '../rules/access.ts'
import { impactsOf } from '../rules/impacts.ts'
import type { Effect } from '../write/effects.ts'
import { invalidAt } from '../write/faults.ts'
import {
  forgetRepliesStatement,
  keepStatements,
  keptReply,
  type RepeatableRequest,
} from '../write/idempotency.ts'
import type { Operation, WriteChannel } from '../write/operations.ts'
import { createQueue } from '../write/queue.ts'
import type { WriteRequest, Writer } from '../write/write.ts'
import { isLines, readBody } from './changeset-body.ts'
import { createOperationReader } from './changeset-operations.ts'
import { replyOf } from './changeset-reply.ts'
import { movedSince, touchedSince } from './moved.ts'

export interface ChangesetInput {
  readonly realm: string
  readonly caller: Caller
  readonly body: AsyncIterable<Buffer>
  /** The media type of the body. */
  readonly type: string
  readonly idempotencyKey?: string | undefined
}

/** A changeset that came as part of another request. */
export interface PreviewInput {
  readonly realm: string
  readonly caller: Caller
  readonly request: unknown
}

export interface Changesets {
  apply(
    input: ChangesetInput,
  ): Promise<{ readonly reply: ChangesetReply; readonly replayed: boolean }>
  /** The documents as the changeset would leave them; nothing is written, whatever its head says. */
  preview(input: PreviewInput): Promise<readonly Effect[]>
  /** Deletes expired idempotent responses. */
  forgetStatement(): Statement
}

export interface ChangesetParts {
  readonly storage: Storage
  readonly writer: Writer
  readonly realms: Realms
  readonly clock: Clock
  /** Of the whole body, and of each part of it, in bytes. */
  readonly limits: { readonly changesetLimit: number; readonly bodyLimit: number }
}

/** Larger ones take turns: of each the operations are in memory until they are committed. */
const largeBody = 4 * 1024 * 1024

const checkHead = lazyValidator(createAjv(), jsonSchemaOf(changesetHead))

/** A changeset that was read, its documents checked one by one. */
interface Changeset {
  readonly head: ChangesetHead
  readonly operations: readonly Operation[]
}

const missing = { field: '/operations', code: 'required', message: 'is required' }
const noList = { field: '/operations', code: 'type', message: 'must be array' }

/** A JSON body without its operations, which were read before; those whose name is spelled oddly are left. */
const splitHead = (value: unknown) => {
  if (!isObject(value)) return { head: value, left: [], errors: [] }
  const { operations = missing, ...head } = value
  return Array.isArray(operations)
    ? { head, left: operations, errors: [] }
    : { head, left: [], errors: [operations === missing ? missing : noList] }
}

export const createChangesets = (parts: ChangesetParts): Changesets => {
  const { storage, writer, realms, clock, limits } = parts
  const { db } = storage
  const queue = createQueue()

  const read = async (body: Spool, { type, caller }: ChangesetInput): Promise<Changeset> => {
    const reader = createOperationReader()
    const value = await readBody(body.chunks(), type, {
      partLimit: limits.bodyLimit,
      onOperation: reader.read,
    })
    const { head, left, errors } = isLines(type)
      ? { head: value, left: [], errors: [] }
      : splitHead(value)
    for (const one of left) reader.read(one)
    refuseUnlessMayWrite(caller, reader.kinds)
    // Where reading was ended, nothing is known of the head.
    const wrong = value === undefined ? [] : [...checkHead(head), ...textErrors(head), ...errors]
    const all = [...wrong, ...reader.errors]
    if (all.length > 0) throw invalidAt(all)
    return { head: head as ChangesetHead, operations: reader.operations }
  }

  const readValue = ({ caller, request }: PreviewInput): Changeset => {
    const reader = createOperationReader()
    const { head, left, errors } = splitHead(request)
    for (const one of left) if (!reader.read(one)) break
    refuseUnlessMayWrite(caller, reader.kinds)
    const all = [...checkHead(head), ...textErrors(head), ...errors, ...reader.errors]
    if (all.length > 0) throw invalidAt(all)
    return { head: head as ChangesetHead, operations: reader.operations }
  }

  const stale = async (realm: string, base: number, revision: number, caller: Caller) =>
    new Problem('stale', `the realm is at revision ${revision}, not at ${base}`, {
      extra: { revision, moved: await movedSince(db, realm, base, caller) },
    })

  /** Goes on where the realm moved only if it may, and none of its own documents did. */
  const baseOf = (
    { head, operations }: Changeset,
    { realm, caller }: Pick<ChangesetInput, 'realm' | 'caller'>,
  ): NonNullable<WriteRequest['base']> => ({
    revision: head.baseRevision,
    moved: async (revision) => {
      const base = head.baseRevision
      const unrelated =
        head.allowUnrelated === true &&
        revision > base &&
        !(await touchedSince(db, realm, base, operations))
      if (!unrelated) throw await stale(realm, base, revision, caller)
    },
  })

  const birthOf = async ({ head }: Changeset, { realm, caller }: ChangesetInput) => {
    if (!head.createRealm) return undefined
    if (!caller.ofMaster)
      throw new Problem('forbidden', 'only a realm-admin of the master realm may make a realm')
    if (head.baseRevision !== 0)
      throw invalid([
        { field: '/baseRevision', code: 'const', message: 'must be 0 of a realm to be made' },
      ])
    return realms.birth(realm, caller, { dryRun: head.dryRun === true })
  }

  const write = async (
    changeset: Changeset,
    input: ChangesetInput,
    repeatable: RepeatableRequest | undefined,
  ): Promise<ChangesetReply> => {
    const { realm, caller } = input
    const { head, operations } = changeset
    const { source, dryRun = false, takeOver = false, message, provenance } = head
    const birth = await birthOf(changeset, input)
    const channel: WriteChannel = { via: 'changeset', origin: 'declared', owner: source, takeOver }
    let reply: ChangesetReply | undefined
    const outcome = await writer.write({
      realm,
      caller,
      channel,
      dryRun,
      operations: birth ? [...birth.operations, ...operations] : operations,
      ...(birth ? { createRealm: true } : { base: baseOf(changeset, input) }),
      ...(message === undefined ? {} : { message }),
      ...(provenance === undefined ? {} : { provenance }),
      alongside: (effects, revision) => {
        reply = { ...replyOf(effects, { revision, dryRun }), impacts: [] }
        return {
          statements: [
            ...(birth?.alongside.statements ?? []),
            ...(repeatable ? keepStatements(db, repeatable, reply, clock.now()) : []),
          ],
          events: birth?.alongside.events ?? [],
        }
      },
    })
    if (reply) return reply
    const { effects, revision, drafts } = outcome
    const impacts = await impactsOf(effects, drafts, { db, realm, now: clock.now() })
    return { ...replyOf(effects, { revision, dryRun }), impacts }
  }

  /** Whatever went wrong: if the same request was answered meanwhile, that is the answer. */
  const orKept = async (
    repeatable: RepeatableRequest | undefined,
    attempt: () => Promise<ChangesetReply>,
  ) => {
    const kept = () =>
      repeatable ? keptReply<ChangesetReply>(db, repeatable, clock.now()) : undefined
    const before = await kept()
    if (before) return { reply: before, replayed: true }
    try {
      return { reply: await attempt(), replayed: false }
    } catch (error) {
      const meanwhile = await kept()
      if (meanwhile) return { reply: meanwhile, replayed: true }
      throw error
    }
  }

  const settle = async (body: Spool, input: ChangesetInput) => {
    const { realm, caller, idempotencyKey: key } = input
    const changeset = await read(body, input)
    refuseUnlessDry(caller, changeset.head.dryRun === true)
    if (!changeset.head.createRealm && !(await realms.find(realm)))
      throw new Problem('not-found', `there is no realm "${realm}"`)
    const repeatable =
      key === undefined || changeset.head.dryRun
        ? undefined
        : { realm, caller, key, hash: body.sha256 }
    return orKept(repeatable, () => write(changeset, input, repeatable))
  }

  return {
    forgetStatement: () => forgetRepliesStatement(db, clock.now()),

    preview: async (input) => {
      const changeset = readValue(input)
      const { realm, caller } = input
      const { source, createRealm, takeOver = false } = changeset.head
      if (createRealm)
        throw new Problem('conflict', 'the realm does not exist yet: apply the files first')
      const { effects } = await writer.write({
        realm,
        caller,
        channel: { via: 'changeset', origin: 'declared', owner: source, takeOver },
        dryRun: true,
        operations: changeset.operations,
        base: baseOf(changeset, input),
      })
      return effects
    },

    apply: async (input) => {
      const body = await spool(input.body, { limit: limits.changesetLimit })
      try {
        const task = () => settle(body, input)
        return await (body.size > largeBody ? queue('large', task) : task())
      } finally {
        await body.close()
      }
    },
  }
}
