/**
 * Fields that the server reads from elsewhere while another field is set (`x-follows`), such as the certificates of a service
 * provider with `metadataRefresh`. Files and server would overwrite each other: therefore a plan leaves them as they are.
 * Drift compares those that the files state; those that they leave out are of no concern to them.
 */

import { isDeepStrictEqual } from 'node:util'
import { followersOf } from '#schemas/marks.ts'
import { compact, contentHash } from '#schemas/normalize.ts'
import type { Desired } from '#schemas/realm/desired.ts'
import type { ActualDocument } from './actual.ts'
import { byPlace, namesOf } from './names.ts'
import type { PlanWarning } from './plan.ts'
import type { Match } from './renames/match.ts'

/** Fields whose value is the server's, in a document that both have. */
const leftAlone = ({ desired, actual }: Pick<Match, 'desired' | 'actual'>): string[] =>
  actual === null
    ? []
    : followersOf(desired.kind.spec)
        .filter(
          ([, followed]) =>
            desired.body[followed] !== undefined && actual.body[followed] !== undefined,
        )
        .map(([field]) => field)

/** The entry with the values that the server has read; the entry itself where nothing differs. */
export const withFollowed = (match: Match, which: 'all' | 'unstated'): Match => {
  const { desired, actual } = match
  if (actual === null || desired.hash === actual.hash) return match
  const fields = leftAlone(match).filter(
    (field) => which === 'all' || desired.body[field] === undefined,
  )
  if (fields.every((field) => isDeepStrictEqual(desired.body[field], actual.body[field])))
    return match
  const read = Object.fromEntries(fields.map((field) => [field, actual.body[field]]))
  const body = compact(desired.kind, { ...desired.body, ...read })
  return { ...match, desired: { ...desired, body, hash: contentHash(body) } }
}

/** The document without what the server has read and the entry does not state: what is left is the files' concern. */
export const withoutUnstated = (desired: Desired, actual: ActualDocument): ActualDocument => {
  if (desired.hash === actual.hash) return actual
  const fields = leftAlone({ desired, actual }).filter(
    (field) => desired.body[field] === undefined && actual.body[field] !== undefined,
  )
  if (fields.length === 0) return actual
  const body = Object.fromEntries(
    Object.entries(actual.body).filter(([field]) => !fields.includes(field)),
  )
  return { ...actual, body, hash: contentHash(body) }
}

const statesOther = (match: Match): boolean => {
  const { desired, actual } = match
  return leftAlone(match).some(
    (field) =>
      desired.body[field] !== undefined &&
      !isDeepStrictEqual(desired.body[field], actual?.body[field]),
  )
}

/** Entries whose files say something else than the server has read. */
export const followedWarning = (matches: readonly Match[]): PlanWarning[] => {
  const places = matches
    .filter(statesOther)
    .map(({ desired: { kind, key } }) => ({ kind: kind.kind, key }))
    .toSorted(byPlace)
  return places.length === 0
    ? []
    : [
        {
          code: 'followed',
          message:
            'the server has read other values than the files state, and keeps them; `iamctl drift` shows them, ' +
            `\`iamctl adopt\` writes them into the files: ${namesOf(places)}`,
          documents: places,
        },
      ]
}
