/**
 * `decide(snapshot, operations)`: what the realm would be, or why not. Pure: it takes no lock, reads nothing and
 * writes nothing, so a dry run is this function alone and a conflict simply decides again. It only waits to let
 * others have their turn.
 */

import { isDeepStrictEqual } from 'node:util'
import { parentKeyOf } from '#schemas/kind.ts'
import { type FieldError, invalid, Problem, summaryOf } from '#schemas/problems.ts'
import { lookersAt } from '#schemas/rules/index.ts'
import { movedSecretError, movedSecrets } from '#schemas/rules/sent-secrets.ts'
import type { Caller } from '#server/http/caller.ts'
import { createPace } from '#server/platform/pace.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { Behaviours } from '../behaviours/behaviour.ts'
import { refuseEscalation, refuseStronger } from '../rules/grants.ts'
import {
  danglingIn,
  markLeaving,
  settleAllReferences,
  settleDeletion,
} from '../rules/references.ts'
import { type Draft, Drafts } from './drafts.ts'
import { checkParent, meet, nameOf, refuseOwned } from './expectations.ts'
import { createFaults, faultsIn } from './faults.ts'
import { figuresFor } from './figures.ts'
import type { Snapshot } from './gather.ts'
import type { Delete, Operation } from './operations.ts'
import { putsInOrder } from './order.ts'
import { makeWay, type PutContext, put } from './put.ts'
import { hasSecretToHash } from './secrets-to-hash.ts'

export interface DecideContext extends PutContext {
  readonly caller: Caller
  readonly behaviours: Behaviours
  /** Whether a secret given now is the one that is stored. */
  readonly sameSecret: (document: StoredDocument, pointer: string, plain: string) => boolean
}

/** Where another document has what this one asks for, it is a conflict, as a taken name is. */
const refusedBy = (errors: readonly FieldError[]): Problem =>
  errors.every(({ code }) => code === 'taken')
    ? new Problem('conflict', summaryOf(errors), { errors })
    : invalid(errors)

/** `draft`: the document as it was found before the first deletion; it may have gone with another one since. */
const remove = (
  drafts: Drafts,
  operation: Delete,
  draft: Draft | undefined,
  { channel }: DecideContext,
): void => {
  const { kind, key } = operation
  if (draft?.body === null) return
  meet({ exists: true, ...operation.expect }, kind, key, draft)
  if (!draft) return
  if (draft.before?.origin === 'built-in')
    throw new Problem('built-in', `${nameOf(kind, key)} is part of every realm`)
  draft.named = true
  draft.release = operation.release === true
  draft.at = operation.at
  refuseOwned(settleDeletion(drafts, draft), channel)
}

/** A stored secret is never sent to a host other than the one it was given for, also when only the host changes. */
const refuseMoved = ({ kind, before, body, secrets, sealed }: Draft): void => {
  if (before === null || body === null || body === before.body) return
  const moved = movedSecrets(kind, before.body, body).filter(
    ({ pointer }) => pointer in sealed && !(pointer in secrets),
  )
  if (moved.length > 0) throw invalid(moved.map(movedSecretError))
}

/** PostgreSQL takes 2,704 bytes in an entry of an index, which has the realm and the kind too. */
const longestKey = 2000

/** Names are bounded one by one; a key is as long as the names of all groups above together. */
const refuseLongKey = ({ kind, before, key }: Draft): void => {
  if (key === before?.key || Buffer.byteLength(key) <= longestKey) return
  const message = `the ${kind.kind} is nested too deep: its key has more than ${longestKey} bytes`
  throw invalid([{ field: '/parentId', code: 'maxLength', message }])
}

/** Leaves the new secrets that differ from those stored, and says whether anything does. */
const settleChange = (draft: Draft, drafts: Drafts, { sameSecret }: DecideContext): boolean => {
  const { before, body } = draft
  if (before === null) return body !== null
  if (body === null) return true
  draft.secrets = Object.fromEntries(
    Object.entries(draft.secrets).filter(([pointer, plain]) => !sameSecret(before, pointer, plain)),
  )
  return (
    before.key !== draft.key ||
    // A path can be what it was, below another document that has the name of the parent now.
    before.parentId !== drafts.parentIdOf(draft) ||
    before.origin !== draft.origin ||
    before.owner !== draft.owner ||
    before.protected !== draft.protected ||
    Object.keys(draft.secrets).length > 0 ||
    hasSecretToHash(draft, drafts.revealable) ||
    !isDeepStrictEqual(before.body, body)
  )
}

/** The documents that change, in an order in which parents come before their children. */
export const decide = async (
  snapshot: Snapshot,
  operations: readonly Operation[],
  context: DecideContext,
): Promise<{ readonly changed: Draft[]; readonly drafts: Drafts }> => {
  const drafts = new Drafts(snapshot)
  const faults = createFaults()
  const byId = new Map(
    operations.flatMap((operation) =>
      operation.id === undefined ? [] : [[operation.id, operation]],
    ),
  )
  const pace = createPace()
  const each = async <T extends { readonly at?: string | undefined }>(
    list: readonly T[],
    step: (one: T) => void,
  ): Promise<void> => {
    for (const one of list) {
      faultsIn(faults, one.at, () => step(one))
      if (pace.over()) await pace.rest()
    }
  }
  await each(putsInOrder(operations), (operation) => {
    makeWay(drafts, operation, byId)
    put(drafts, operation, context)
  })
  settleAllReferences(drafts)
  // Deletions last: what the same list stops referring to no longer holds on, unless it could not be put.
  const deletions = faults.any ? [] : operations.filter((operation) => operation.op === 'delete')
  const found = new Map(deletions.map((operation) => [operation, drafts.target(operation)]))
  markLeaving(
    drafts,
    [...found.values()].filter((draft) => draft !== undefined),
  )
  await each(deletions, (operation) => remove(drafts, operation, found.get(operation), context))
  faults.settle()
  settleAllReferences(drafts)

  const changed: Draft[] = []
  const confirmed: Draft[] = []
  await each(drafts.all(), (draft) => {
    refuseMoved(draft)
    const hasSecrets = Object.keys(draft.secrets).length > 0
    if (settleChange(draft, drafts, context)) changed.push(draft)
    // "Nothing changes" confirms that the given secret is the stored one: a guess at it needs what a write needs.
    else if (hasSecrets) confirmed.push(draft)
  })
  const figureOf = figuresFor(drafts.all())
  await each(changed, (draft) => {
    draft.figure = figureOf(draft)
    refuseLongKey(draft)
    checkPlace(drafts, draft)
  })
  await each([...changed, ...concerned(drafts, changed)], (draft) => {
    const errors =
      draft.body === null ? [] : context.behaviours.get(draft.kind.kind)?.check?.(draft, drafts)
    if (errors && errors.length > 0) throw refusedBy(isGiven(draft) ? errors : about(draft, errors))
  })
  faults.settle()
  refuseEscalation(drafts, changed, context.caller)
  refuseStronger(drafts, confirmed, context.caller)
  return { changed: changed.sort((a, b) => depth(a) - depth(b)), drafts }
}

/** Documents that stay as they are, and whose rules read some that do not. */
const concerned = (drafts: Drafts, changed: readonly Draft[]): Draft[] => {
  const kinds = new Set(changed.map(({ kind }) => kind))
  const lookers = new Set([...kinds].flatMap(lookersAt))
  if (lookers.size === 0) return []
  const known = new Set(changed)
  return drafts.all().filter((draft) => lookers.has(draft.kind) && !known.has(draft))
}

const isGiven = ({ named, seed }: Draft): boolean => named && !seed

/** The caller did not send the document of these fields: the error must name it. */
const about = ({ kind, key }: Draft, errors: readonly FieldError[]): FieldError[] =>
  errors.map((error) => ({ ...error, message: `${nameOf(kind, key)}: ${error.message}` }))

/** Everything around the document is there after the change. */
const checkPlace = (drafts: Drafts, draft: Draft): void => {
  const { kind, key, body, at, named } = draft
  if (body === null) return
  if (named) checkParent(drafts, kind, key, at)
  const dangling = danglingIn(drafts, draft)
  if (dangling.length > 0) throw invalid(dangling)
}

const depth = (draft: Draft): number => {
  const above = parentKeyOf(draft.kind, draft.key)
  return above === null ? 0 : draft.kind.shape === 'child' ? 100 : above.split('/').length
}
