/**
 * A simulated server: documents and operations in, documents out, by the rules of the engine's contract and without code
 * of the planner. A plan is correct if the result equals the files.
 */

import type { Doc } from '#schemas/json-schema.ts'
import { type Kind, keyOf, parentKeyOf } from '#schemas/kind.ts'
import { compact, contentHash } from '#schemas/normalize.ts'
import { nest } from '#schemas/realm/realm-document.ts'
import { seeds } from '#schemas/realm/seeds.ts'
import { kindNamed } from '#schemas/registry.ts'
import { referencesOf, replaceReferences } from '#schemas/walk.ts'
import {
  type ChangesetOperation,
  type DocumentMeta,
  type DocumentOrigin,
  formatVersion,
  type RealmExport,
} from '#schemas/wire/wire.ts'

export interface Stored {
  readonly kind: Kind
  readonly key: string
  readonly body: Doc
  readonly origin: DocumentOrigin
  readonly owner: string | null
  readonly protected: boolean
}

/** The server would answer with a problem. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

interface Draft {
  readonly kind: Kind
  readonly hash: string | null
  key: string
  body: Doc
  origin: DocumentOrigin
  owner: string | null
  protected: boolean
  parent: Draft | undefined
  /** Given in full by an operation, in names as they are afterwards. */
  stated: boolean
}

export const born = (): Stored[] =>
  seeds.map(({ kind, key, doc }) => ({
    kind,
    key,
    body: doc,
    origin: 'built-in',
    owner: null,
    protected: false,
  }))

export const applied = (
  documents: readonly Stored[],
  operations: readonly ChangesetOperation[],
  source: string,
): Stored[] => {
  const drafts = new Set<Draft>()
  const at = (kind: string, key: string): Draft | undefined =>
    [...drafts].find((draft) => draft.kind.kind === kind && draft.key === key)
  const parentOf = (kind: Kind, key: string): Draft | undefined => {
    const parentKey = parentKeyOf(kind, key)
    if (parentKey === null) return undefined
    const parent = at(kind.parentKind ?? '', parentKey)
    if (!parent) throw new Refused(`there is no parent for ${kind.kind} ${key}`)
    return parent
  }
  for (const one of documents)
    drafts.add({ ...one, hash: contentHash(one.body), parent: undefined, stated: false })
  for (const draft of drafts) draft.parent = parentOf(draft.kind, draft.key)

  const refersTo = (draft: Draft, target: Draft) =>
    referencesOf(draft.kind, draft.body, draft.key).filter(
      ({ kind, key }) => kind === target.kind.kind && key === target.key,
    )
  const below = (draft: Draft): Draft[] => [...drafts].filter(({ parent }) => parent === draft)

  const rename = (draft: Draft, key: string): void => {
    const from = draft.key
    const referrers = [...drafts].filter(
      (other) => !other.stated && refersTo(other, draft).length > 0,
    )
    for (const referrer of referrers)
      referrer.body = compact(
        referrer.kind,
        replaceReferences(referrer.kind, referrer.body, [{ kind: draft.kind.kind, from, to: key }]),
      )
    draft.key = key
    for (const child of below(draft)) rename(child, key + child.key.slice(from.length))
  }

  const expect = (draft: Draft | undefined, ifHash: string | null | undefined): void => {
    if (ifHash === null && draft) throw new Refused(`${draft.kind.kind} ${draft.key} exists`)
    if (typeof ifHash === 'string' && draft?.hash !== ifHash) throw new Refused('it has moved')
  }

  const put = ({ kind: name, key, from, doc, ifHash, ...rest }: ChangesetOperation): void => {
    const kind = kindNamed(name)
    const draft = at(name, from ?? key)
    expect(draft, ifHash)
    if (from !== undefined && !draft) throw new Refused(`there is no ${name} ${from}`)
    if (from !== undefined && at(name, key)) throw new Refused(`${name} ${key} is taken`)
    const body = compact(kind, doc ?? {})
    if (keyOf(kind, body, parentKeyOf(kind, key) ?? '') !== key) throw new Refused('key')
    const parent = parentOf(kind, key)
    if (from !== undefined && `${key}/`.startsWith(`${from}/`) && kind.shape === 'tree')
      throw new Refused('below itself')
    const isProtected = rest.protected ?? false
    if (draft) {
      if (from !== undefined) rename(draft, key)
      draft.body = body
      draft.owner = source
      draft.origin = draft.origin === 'built-in' ? 'built-in' : 'declared'
      draft.protected = isProtected
      draft.parent = parent
      draft.stated = true
    } else
      drafts.add({
        kind,
        hash: null,
        key,
        body,
        origin: 'declared',
        owner: source,
        protected: isProtected,
        parent,
        stated: true,
      })
  }

  const remove = ({ kind, key, ifHash }: ChangesetOperation): void => {
    const draft = at(kind, key)
    if (!draft) throw new Refused(`there is no ${kind} ${key}`)
    expect(draft, ifHash)
    const doomed = new Set([draft])
    for (const one of doomed) {
      for (const child of below(one)) doomed.add(child)
      for (const other of drafts)
        if (refersTo(other, one).some(({ onDelete }) => onDelete === 'cascade')) doomed.add(other)
    }
    for (const one of doomed)
      if (one.protected || one.origin === 'built-in') throw new Refused(`${one.key} stays`)
    for (const one of doomed)
      for (const other of drafts) {
        if (doomed.has(other)) continue
        for (const { onDelete } of refersTo(other, one)) {
          if (onDelete === 'refuse') throw new Refused(`${one.key} is used by ${other.key}`)
          const target = { kind: one.kind.kind, from: one.key, to: null }
          other.body = compact(other.kind, replaceReferences(other.kind, other.body, [target]))
        }
      }
    for (const one of doomed) drafts.delete(one)
  }

  for (const operation of operations) if (operation.op !== 'delete') put(operation)
  for (const operation of operations) if (operation.op === 'delete') remove(operation)
  for (const draft of drafts)
    for (const reference of referencesOf(draft.kind, draft.body, draft.key))
      if (!at(reference.kind, reference.key))
        throw new Refused(`${draft.key} names ${reference.key}, which does not exist`)
  return [...drafts].map(({ hash: _, parent: __, stated: ___, ...stored }) => stored)
}

/** What the server would export of these documents. */
export const exportOf = (realm: string, documents: readonly Stored[]): RealmExport => {
  const metas: Record<string, Record<string, DocumentMeta>> = {}
  for (const [name, some] of Map.groupBy(documents, ({ kind }) => kind.kind))
    metas[name] = Object.fromEntries(
      some.map(({ key, body, origin, owner, protected: isProtected }) => [
        key,
        { hash: contentHash(body), origin, owner, protected: isProtected, updatedAt: 0 },
      ]),
    )
  return {
    ...nest(documents.map(({ kind, key, body }) => ({ kind, key, value: body }))),
    formatVersion,
    realm,
    revision: 1,
    meta: { sections: {}, documents: metas },
  }
}
