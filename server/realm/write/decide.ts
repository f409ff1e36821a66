/**
 * `decide(snapshot, operations)`: what the realm would be, or why not. Pure: it takes no lock, reads nothing and
 * writes nothing, so a dry run is this function alone and a conflict simply decides again. It only waits to let
 * others have their turn.
 */

import { isDeepStrictEqual } from 'node:util'
import { type Kind, keyOf, parentKeyOf } from '#schemas/kind.ts'
import { compact, contentHash } from '#schemas/normalize.ts'
import { type FieldError, invalid, Problem, summaryOf } from '#schemas/problems.ts'
import { lookersAt } from '#schemas/rules/index.ts'
import { movedSecretError, movedSecrets } from '#schemas/rules/sent-secrets.ts'
import { secretFields } from '#schemas/walk.ts'
import type { Caller } from '#server/http/caller.ts'
import { isMet, unmet } from '#server/http/etag.ts'
import { createPace } from '#server/platform/pace.ts'
import { etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { Behaviours } from '../behaviours/behaviour.ts'
import { refuseEscalation } from '../rules/grants.ts'
import { mayTakeOver, ownedByOthers } from '../rules/owners.ts'
import {
  danglingIn,
  followRename,
  markLeaving,
  settleAllReferences,
  settleDeletion,
  settleReferences,
} from '../rules/references.ts'
import { type Draft, Drafts } from './drafts.ts'
import { createFaults, faultsIn } from './faults.ts'
import { figuresFor } from './figures.ts'
import type { Snapshot } from './gather.ts'
import {
  type Delete,
  docOf,
  type Expectation,
  type Operation,
  type Put,
  type WriteChannel,
} from './operations.ts'
import { putsInOrder } from './order.ts'
import { hasSecretToHash } from './secrets-to-hash.ts'

export interface DecideContext {
  readonly caller: Caller
  readonly channel: WriteChannel
  readonly behaviours: Behaviours
  readonly newId: () => string
  /** Checks a document in its stored form. */
  readonly validate: (kind: Kind, doc: unknown) => readonly FieldError[]
  /** Whether a secret given now is the one that is stored. */
  readonly sameSecret: (document: StoredDocument, pointer: string, plain: string) => boolean
}

const nameOf = (kind: Kind, key: string): string => `${kind.kind} "${key}"`

const taken = (kind: Kind, key: string): Problem =>
  new Problem('conflict', `${nameOf(kind, key)} exists already`, {
    errors: [{ field: `/${kind.keyFields[0]}`, code: 'duplicate', message: 'is taken' }],
  })

/** Where another document has what this one asks for, it is a conflict, as a taken name is. */
const refusedBy = (errors: readonly FieldError[]): Problem =>
  errors.every(({ code }) => code === 'taken')
    ? new Problem('conflict', summaryOf(errors), { errors })
    : invalid(errors)

const meet = (expect: Expectation | undefined, kind: Kind, key: string, draft?: Draft): void => {
  const { exists, conditions = {}, hash } = expect ?? {}
  if (exists === true && !draft) throw new Problem('not-found', `there is no ${nameOf(kind, key)}`)
  // An export contains no runtime documents, so `hash: null` also matches one; the put makes it configuration.
  const isSeen = draft !== undefined && draft.before?.origin !== 'runtime'
  if ((exists === false && draft) || (hash === null && isSeen)) throw taken(kind, key)
  if (!isMet(conditions, draft?.before ? etagOf(draft.before) : null))
    throw new Problem('precondition-failed', `${nameOf(kind, key)} ${unmet(conditions)}`)
  if (typeof hash === 'string' && (!draft?.body || hashOf(draft) !== hash))
    throw new Problem('conflict', `${nameOf(kind, key)} was changed since it was read`)
}

const hashOf = ({ before, body }: Draft): string => before?.hash ?? contentHash(body ?? {})

/** The key that a document's own fields make must be the one it is filed under. */
export const keyErrors = (
  kind: Kind,
  key: string,
  doc: Readonly<Record<string, unknown>>,
): FieldError[] =>
  keyOf(kind, doc, parentKeyOf(kind, key) ?? '') === key
    ? []
    : [
        {
          field: `/${kind.keyFields[0]}`,
          code: 'key',
          message: `does not agree with the key "${key}"`,
        },
      ]

const checkImmutable = (draft: Draft, doc: Readonly<Record<string, unknown>>): void => {
  const changed = Object.entries(draft.kind.spec.properties ?? {}).filter(
    ([field, schema]) =>
      schema['x-immutable'] && !isDeepStrictEqual(draft.before?.body[field], doc[field]),
  )
  if (changed.length > 0)
    throw invalid(
      changed.map(([field]) => ({
        field: `/${field}`,
        code: 'immutable',
        message: 'cannot be changed once it is set',
      })),
    )
}

/** What the document above it must be; a list that can be pointed into learns which of its fields is wrong. */
const checkParent = (drafts: Drafts, kind: Kind, key: string, at: string | undefined): void => {
  const above = parentKeyOf(kind, key)
  if (above === null || drafts.find(kind.parentKind ?? '', above)) return
  const message = `there is no ${kind.parentKind} "${above}"`
  if (at === undefined) throw new Problem('not-found', message)
  throw invalid([{ field: `/${kind.keyFields[0]}`, code: 'missing-reference', message }])
}

const refuseOwned = (drafts: readonly Draft[], channel: WriteChannel): void => {
  if (mayTakeOver(channel)) return
  const documents = drafts.flatMap(({ kind, key, before }) =>
    before && before.owner !== null && before.owner !== channel.owner
      ? [{ kind: kind.kind, key, owner: before.owner }]
      : [],
  )
  if (documents.length > 0) throw ownedByOthers(documents)
}

const newValueOf = (operation: Put, existing: Draft | undefined, context: DecideContext) => {
  const { kind, key, stated } = operation
  const given = docOf(operation, existing?.body)
  if (stated) return given
  const doc = compact(kind, given)
  const errors = context.validate(kind, doc)
  if (errors.length > 0) throw invalid(errors)
  const wrong = keyErrors(kind, key, doc)
  if (wrong.length > 0) throw invalid(wrong)
  return doc
}

/** Which document it is, whose, and under whose protection; a channel that owns documents makes them its own. */
const belonging = (
  operation: Put,
  { origin, owner }: WriteChannel,
  existing?: Draft,
): Pick<Draft, 'origin' | 'owner' | 'protected' | 'named' | 'stated' | 'seed' | 'at'> => {
  const { lineage } = operation
  const kept = existing?.origin === 'built-in' ? 'built-in' : 'declared'
  return {
    ...(lineage
      ? { origin: lineage.origin, owner: lineage.owner }
      : !existing
        ? { origin, owner }
        : origin === 'declared'
          ? { origin: kept, owner }
          : { origin: existing.origin, owner: existing.owner }),
    protected: operation.protected ?? existing?.protected ?? false,
    named: true,
    stated: operation.stated === true,
    seed: lineage?.seed === true,
    at: operation.at,
  }
}

const without = (sealed: Draft['sealed'], forget: readonly string[]): Draft['sealed'] =>
  forget.length === 0
    ? sealed
    : Object.fromEntries(Object.entries(sealed).filter(([pointer]) => !forget.includes(pointer)))

const put = (drafts: Drafts, given: Put, context: DecideContext): void => {
  const existing = drafts.target(given)
  const operation = given.keepsKey && existing ? { ...given, key: existing.key } : given
  const { kind, key, at, lineage } = operation
  // Its new value may follow from the one so far.
  if (existing) settleReferences(drafts, existing)
  const from = existing?.key ?? operation.from ?? key
  meet(operation.expect, kind, from, existing)
  if (from !== key && !existing)
    throw new Problem('not-found', `there is no ${nameOf(kind, from)} to rename`)
  if (from !== key && drafts.find(kind.kind, key)) throw taken(kind, key)

  const doc = newValueOf(operation, existing, context)
  if (kind.shape === 'tree' && from !== key && key.startsWith(`${from}/`))
    throw invalid([{ field: '/parentId', code: 'cycle', message: 'it would be below itself' }])
  checkParent(drafts, kind, key, at)

  if (!existing) {
    drafts.add({
      id: lineage?.id ?? operation.idWhenMade ?? context.newId(),
      kind,
      before: null,
      key,
      body: doc,
      secrets: operation.secrets,
      sealed: lineage?.secrets ?? {},
      ...(lineage?.version === undefined ? {} : { lastVersion: lineage.version }),
      ...(lineage?.seed ? { born: { key, body: doc } } : {}),
      ...belonging(operation, context.channel),
    })
    return
  }
  refuseOwned([existing], context.channel)
  if (existing.before) checkImmutable(existing, doc)
  const initial = new Set(
    secretFields(kind).flatMap(({ pointer, mark }) => (mark.store === 'initial' ? [pointer] : [])),
  )
  const later = Object.entries(operation.secrets).filter(([pointer]) => !initial.has(pointer))
  Object.assign(existing, belonging(operation, context.channel, existing), {
    body: doc,
    secrets: { ...existing.secrets, ...Object.fromEntries(later) },
    sealed: without(existing.sealed, operation.forget ?? []),
  })
  if (from !== key) followRename(drafts, existing, key)
}

/**
 * A name that a list takes from a document which leaves it: that one goes out of the way, so that names may go round in
 * a circle. Only where documents are meant by id and stated in full. No natural key holds a control character.
 */
const makeWay = (
  drafts: Drafts,
  { kind, key, id, stated }: Put,
  byId: ReadonlyMap<string, Operation>,
): void => {
  const holder = stated ? drafts.find(kind.kind, key) : undefined
  if (!holder || holder.id === id) return
  const next = byId.get(holder.id)
  if (next && (next.op === 'delete' || next.key !== key))
    followRename(drafts, holder, `\u0001${holder.id}`)
}

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
const settleChange = (
  draft: Draft,
  revealable: boolean,
  { sameSecret }: DecideContext,
): boolean => {
  const { before, body } = draft
  if (before === null) return body !== null
  if (body === null) return true
  draft.secrets = Object.fromEntries(
    Object.entries(draft.secrets).filter(([pointer, plain]) => !sameSecret(before, pointer, plain)),
  )
  return (
    before.key !== draft.key ||
    before.origin !== draft.origin ||
    before.owner !== draft.owner ||
    before.protected !== draft.protected ||
    Object.keys(draft.secrets).length > 0 ||
    hasSecretToHash(draft, revealable) ||
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
  await each(drafts.all(), (draft) => {
    refuseMoved(draft)
    if (settleChange(draft, drafts.revealable, context)) changed.push(draft)
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
