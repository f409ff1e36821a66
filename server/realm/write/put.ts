/** An operation that states a document: it is made, changed, renamed or taken over on paper. */

import { isDeepStrictEqual } from 'node:util'
import { type Kind, keyOf, parentKeyOf } from '#schemas/kind.ts'
import { compact } from '#schemas/normalize.ts'
import { type FieldError, invalid, Problem } from '#schemas/problems.ts'
import { secretFields } from '#schemas/walk.ts'
import { followRename, settleReferences } from '../rules/references.ts'
import type { Draft, Drafts } from './drafts.ts'
import { checkParent, meet, nameOf, refuseOwned, taken } from './expectations.ts'
import { docOf, type Operation, type Put, type WriteChannel } from './operations.ts'

export interface PutContext {
  readonly channel: WriteChannel
  readonly newId: () => string
  /** Checks a document in its stored form. */
  readonly validate: (kind: Kind, doc: unknown) => readonly FieldError[]
}

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

const newValueOf = (operation: Put, existing: Draft | undefined, context: PutContext) => {
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

export const put = (drafts: Drafts, given: Put, context: PutContext): void => {
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
export const makeWay = (
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
