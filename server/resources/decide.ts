/**
 * `decide(snapshot, operations)`: what the realm would be, or why not. Pure: it takes no lock, reads nothing and
 * writes nothing, so a dry run is this function alone and a conflict simply decides again.
 */

import { isDeepStrictEqual } from 'node:util'
import { type Kind, keyOf, parentKeyOf } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { secretFields } from '#schemas/walk.ts'
import type { Caller } from '#server/http/caller.ts'
import { etagOf, type StoredDocument } from '#server/storage/documents/document.ts'
import type { Behaviours } from './behaviour.ts'
import { type Draft, Drafts } from './drafts.ts'
import { refuseEscalation } from './grants.ts'
import {
  type Delete,
  type Door,
  docOf,
  type Expectation,
  type Operation,
  type Put,
} from './operations.ts'
import { checkReferences, followRename, settleDeletion } from './references.ts'
import type { Snapshot } from './snapshot.ts'

export interface DecideContext {
  readonly caller: Caller
  readonly door: Door
  readonly behaviours: Behaviours
  readonly newId: () => string
  /** Checks a document in its stored form. */
  readonly validate: (kind: Kind, doc: unknown) => readonly FieldError[]
  /** Whether a secret given now is the one that is stored. */
  readonly sameSecret: (document: StoredDocument, pointer: string, plain: string) => boolean
}

const nameOf = (kind: Kind, key: string): string => `${kind.kind} "${key}"`

const meet = (expect: Expectation | undefined, kind: Kind, key: string, draft?: Draft): void => {
  if (expect?.exists === true && !draft)
    throw new Problem('not-found', `there is no ${nameOf(kind, key)}`)
  if (expect?.exists === false && draft)
    throw new Problem('conflict', `${nameOf(kind, key)} exists already`, {
      errors: [{ field: `/${kind.keyFields[0]}`, code: 'duplicate', message: 'is taken' }],
    })
  if (expect?.etag !== undefined && (!draft?.before || etagOf(draft.before) !== expect.etag))
    throw new Problem('precondition-failed', `${nameOf(kind, key)} has changed since it was read`)
}

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

const put = (drafts: Drafts, operation: Put, context: DecideContext): void => {
  const { kind, key } = operation
  const existing = drafts.target(operation)
  const from = existing?.key ?? operation.from ?? key
  meet(operation.expect, kind, from, existing)
  if (from !== key && !existing)
    throw new Problem('not-found', `there is no ${nameOf(kind, from)} to rename`)
  if (from !== key && drafts.find(kind.kind, key)) meet({ exists: false }, kind, key, existing)

  const doc = compact(kind, docOf(operation, existing?.body))
  const parentKey = parentKeyOf(kind, key)
  const errors = [...context.validate(kind, doc)]
  if (errors.length === 0 && keyOf(kind, doc, parentKey ?? '') !== key)
    errors.push({
      field: `/${kind.keyFields[0]}`,
      code: 'key',
      message: `does not agree with the key "${key}"`,
    })
  if (errors.length > 0) throw invalid(errors)
  if (kind.shape === 'tree' && from !== key && `${parentKey}/`.startsWith(`${from}/`))
    throw invalid([{ field: '/parentId', code: 'cycle', message: 'it would be below itself' }])
  if (parentKey !== null && !drafts.find(kind.parentKind ?? '', parentKey))
    throw new Problem('not-found', `there is no ${kind.parentKind} "${parentKey}"`)

  if (!existing) {
    const draft: Draft = {
      id: context.newId(),
      kind,
      before: null,
      key,
      body: doc,
      secrets: operation.secrets,
      named: true,
    }
    drafts.add(draft)
    return
  }
  if (existing.before) checkImmutable(existing, doc)
  existing.body = doc
  const initial = new Set(
    secretFields(kind).flatMap(({ pointer, mark }) => (mark.store === 'initial' ? [pointer] : [])),
  )
  const later = Object.entries(operation.secrets).filter(([pointer]) => !initial.has(pointer))
  existing.secrets = { ...existing.secrets, ...Object.fromEntries(later) }
  existing.named = true
  if (from !== key) followRename(drafts, existing, key)
}

const remove = (drafts: Drafts, operation: Delete): void => {
  const { kind, key } = operation
  const draft = drafts.target(operation)
  meet({ exists: true, ...operation.expect }, kind, key, draft)
  if (!draft) return
  if (draft.before?.origin === 'built-in' || kind.shape === 'singleton')
    throw new Problem('built-in', `${nameOf(kind, key)} is part of every realm`)
  draft.named = true
  settleDeletion(drafts, draft)
}

const isChanged = (draft: Draft, { door, sameSecret }: DecideContext): boolean => {
  const { before, body } = draft
  if (before === null) return body !== null
  if (body === null || before.key !== draft.key || !isDeepStrictEqual(before.body, body))
    return true
  if (draft.named && door.owner !== null && before.owner !== door.owner) return true
  return Object.entries(draft.secrets).some(
    ([pointer, plain]) => !sameSecret(before, pointer, plain),
  )
}

/** The documents that change, in an order in which parents come before their children. */
export const decide = (
  snapshot: Snapshot,
  operations: readonly Operation[],
  context: DecideContext,
): { readonly changed: Draft[]; readonly drafts: Drafts } => {
  const drafts = new Drafts(snapshot)
  for (const operation of operations) if (operation.op === 'put') put(drafts, operation, context)
  // Deletions last: what the same list stops referring to no longer holds on.
  for (const operation of operations) if (operation.op === 'delete') remove(drafts, operation)

  const changed = drafts.all().filter((draft) => isChanged(draft, context))
  checkReferences(drafts, changed)
  const errors = changed.flatMap((draft) =>
    draft.body === null
      ? []
      : (context.behaviours.get(draft.kind.kind)?.check?.(draft, drafts) ?? []),
  )
  if (errors.length > 0) throw invalid(errors)
  refuseEscalation(drafts, changed, context.caller)
  return { changed: changed.sort((a, b) => depth(a) - depth(b)), drafts }
}

const depth = (draft: Draft): number => {
  const above = parentKeyOf(draft.kind, draft.key)
  return above === null ? 0 : draft.kind.shape === 'child' ? 100 : above.split('/').length
}
