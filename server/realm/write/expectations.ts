/** What an operation presupposes: the state of its document, the owner, and the document above. */

import { type Kind, parentKeyOf } from '#schemas/kind.ts'
import { contentHash } from '#schemas/normalize.ts'
import { invalid, Problem } from '#schemas/problems.ts'
import { isMet, unmet } from '#server/http/etag.ts'
import { etagOf } from '#server/storage/documents/document.ts'
import { mayTakeOver, ownedByOthers } from '../rules/owners.ts'
import type { Draft, Drafts } from './drafts.ts'
import type { Expectation, WriteChannel } from './operations.ts'

export const nameOf = (kind: Kind, key: string): string => `${kind.kind} "${key}"`

export const taken = (kind: Kind, key: string): Problem =>
  new Problem('conflict', `${nameOf(kind, key)} exists already`, {
    errors: [{ field: `/${kind.keyFields[0]}`, code: 'duplicate', message: 'is taken' }],
  })

const hashOf = ({ before, body }: Draft): string => before?.hash ?? contentHash(body ?? {})

export const meet = (
  expect: Expectation | undefined,
  kind: Kind,
  key: string,
  draft?: Draft,
): void => {
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

/** What the document above it must be; a list that can be pointed into learns which of its fields is wrong. */
export const checkParent = (
  drafts: Drafts,
  kind: Kind,
  key: string,
  at: string | undefined,
): void => {
  const above = parentKeyOf(kind, key)
  if (above === null || drafts.find(kind.parentKind ?? '', above)) return
  const message = `there is no ${kind.parentKind} "${above}"`
  if (at === undefined) throw new Problem('not-found', message)
  throw invalid([{ field: `/${kind.keyFields[0]}`, code: 'missing-reference', message }])
}

export const refuseOwned = (drafts: readonly Draft[], channel: WriteChannel): void => {
  if (mayTakeOver(channel)) return
  const documents = drafts.flatMap(({ kind, key, before }) =>
    before && before.owner !== null && before.owner !== channel.owner
      ? [{ kind: kind.kind, key, owner: before.owner }]
      : [],
  )
  if (documents.length > 0) throw ownedByOthers(documents)
}
