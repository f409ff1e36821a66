/**
 * `planRealm(desired, actual, options)`: what has to happen so that a realm is what its files say. Pure: the same files
 * and the same realm give the same plan, in whatever order they were read.
 */

import type { Kind } from '#schemas/kind.ts'
import type { Desired } from '#schemas/realm/desired.ts'
import { type Listing, sectionOf } from '#schemas/realm/realm-document.ts'
import type { Place, SecretPlace } from '#schemas/wire/wire.ts'
import type { Place as SourcePlace } from '../diagnostics.ts'
import type { SecretSource } from '../load/loaded.ts'
import type { Actual } from './actual.ts'
import {
  type ChangeContext,
  changeOf,
  immutableProblems,
  movedProblems,
  newerProblems,
  secretKey,
} from './changes.ts'
import { followedWarning, withFollowed } from './followed.ts'
import { byPlace, placeKey } from './names.ts'
import { inApplyOrder } from './order/apply-order.ts'
import { deletionOf, referrersFirst, refusalsOf, withCascades } from './order/deletions.ts'
import { stillNamed } from './order/still-named.ts'
import {
  type Change,
  type PlanProblem,
  type Prune,
  type RealmPlan,
  summaryOf,
  type UnknownSecret,
} from './plan.ts'
import { ownershipProblems, sameNames } from './problems.ts'
import { renameConflicts, renameFindings } from './renames/findings.ts'
import { type Following, follow } from './renames/follow.ts'
import { followHandRenames, lookalikes } from './renames/likely-renames.ts'
import { type Matching, match } from './renames/match.ts'
import { type Scope, scopeOf } from './target.ts'
import {
  isDoomed,
  type Left,
  leftOut,
  narrowedWarning,
  placeOf,
  unmanagedIn,
  warningsAbout,
} from './warnings/left-out.ts'
import { cautions, targeted } from './warnings/of-changes.ts'

/** How many unmanaged documents a plan names. */
const mostUnmanaged = 200

/** What the files say of a realm. */
export interface DesiredRealm {
  readonly desired: readonly Desired[]
  readonly listings: readonly Listing[]
}

export interface PlanOptions {
  readonly source: string
  readonly prune: Prune
  /** Only these, with what is below them and what they need; none: everything. */
  readonly targets?: readonly Place[]
  /** Also change what another source owns. */
  readonly takeOver?: boolean
  /** Drift: fields that the server reads from elsewhere are compared where the files state them. */
  readonly history?: boolean
  /** As `compare` told. Of a document that is renamed, under its old or its new key. */
  readonly differingSecrets: readonly SecretPlace[]
  /** Not compared: their values are not known. */
  readonly unknownSecrets?: readonly UnknownSecret[]
  /** As `compare` told: owned documents in sections that the export was not asked for. */
  readonly orphaned?: readonly Place[]
  /** Files of the estate that were not read and hold more of the realm: nothing is pruned. */
  readonly elsewhere?: readonly string[]
  /** Both take a JSON pointer into the realm value. */
  readonly placeOf: (pointer: string) => SourcePlace | undefined
  readonly secretSourceOf: (pointer: string) => SecretSource
}

/** Sections of the files that the caller may not read: what is in them would seem to be missing. */
const unreadable = (
  { desired, listings }: DesiredRealm,
  { omitted }: Actual,
  place: PlanOptions['placeOf'],
): PlanProblem[] => {
  const kinds = new Map<string, Kind>()
  for (const { kind } of [...listings, ...desired])
    if (omitted.has(sectionOf(kind)) && !kinds.has(sectionOf(kind)))
      kinds.set(sectionOf(kind), kind)
  return [...kinds].map(([section, { kind }]) => ({
    code: 'unreadable',
    kind,
    key: '',
    message: `the section ${section} cannot be planned: you may not read it`,
    place: place(`/${section}`) ?? null,
  }))
}

const keyOfPlace = ({ kind, key }: Place): string => placeKey(kind, key)

const sorted = (problems: readonly PlanProblem[]): readonly PlanProblem[] =>
  problems.toSorted((a, b) => byPlace(a, b) || (a.code < b.code ? -1 : a.code > b.code ? 1 : 0))

/** The documents of the files, each with the document of the realm that it is. */
const matchedIn = (files: DesiredRealm, actual: Actual, options: PlanOptions) => {
  const { asked, omitted } = actual
  const { source, targets = [], history = false } = options
  const isKnown = (kind: Kind): boolean =>
    (asked === null || asked.has(sectionOf(kind))) && !omitted.has(sectionOf(kind))
  const known = files.desired.filter(({ kind }) => isKnown(kind))
  const scope: Scope = scopeOf(known, actual, targets)
  const byHand = followHandRenames(scope.desired, actual, source, files.desired)
  const found = match(byHand.desired, actual, files.desired)
  const matches = found.matches.map((one) => withFollowed(one, history ? 'unstated' : 'all'))
  const matching: Matching = { ...found, matches }
  const followed = history ? [] : followedWarning(found.matches)
  return { scope, matching, warnings: { byHand: byHand.warnings, followed } }
}

const contextOf = (
  options: PlanOptions,
  { deleted }: Actual,
  following: Following,
): ChangeContext => {
  const keysOf = (secrets: readonly SecretPlace[]): ReadonlySet<string> =>
    new Set(secrets.map(({ kind, key, pointer }) => secretKey(kind, key, pointer)))
  return {
    ...options,
    following,
    differing: keysOf(options.differingSecrets),
    unknown: keysOf(options.unknownSecrets ?? []),
    deleted,
  }
}

/** Documents that the targets need are created or renamed for them; those that would only change are left alone. */
const plannedIn = ({ matches }: Matching, context: ChangeContext, { isInScope }: Scope) => {
  const isAsked = ({ action, kind, key }: Change): boolean =>
    action === 'create' || action === 'rename' || isInScope({ kind, key })
  return matches.flatMap((one) => {
    const change = changeOf(one, context)
    return change && isAsked(change) ? [{ match: one, change }] : []
  })
}

/** The documents that the files do not have, and the deletions among them, each with what goes along. */
const removalsIn = (
  { listings }: DesiredRealm,
  { documents }: Actual,
  { matches, moved }: Matching,
  { bodyOf }: Following,
  isDeleted: (one: Left) => boolean,
) => {
  const matched = new Set(matches.map((one) => one.actual))
  const left = leftOut(
    documents.values(),
    (document) => matched.has(document),
    (document) => moved.get(document) ?? document.key,
    listings,
  )
  const doomed = left.filter(isDeleted)
  const standing = () => [
    ...left.map((one) => ({ ...one, body: bodyOf(one.document) })),
    ...matches.flatMap(({ desired, actual: document }) =>
      document ? [{ document, key: desired.key, body: desired.body }] : [],
    ),
  ]
  const deletions =
    doomed.length === 0 ? [] : referrersFirst(withCascades(doomed, standing()), bodyOf)
  const gone = new Set(
    deletions.flatMap(({ left: one, along }) => [one, ...along].map(({ document }) => document)),
  )
  return { left, deletions, gone }
}

/** Orphans that no deletion takes along. */
const orphansBeside = (orphaned: readonly Place[], changes: readonly Change[]): Place[] => {
  const gone = new Set(changes.flatMap(({ cascades }) => cascades.map(keyOfPlace)))
  return orphaned.filter((place) => !gone.has(keyOfPlace(place)))
}

export const planRealm = (files: DesiredRealm, actual: Actual, options: PlanOptions): RealmPlan => {
  const { source, targets = [], takeOver = false, elsewhere = [], orphaned = [] } = options
  const prune = elsewhere.length === 0 ? options.prune : 'none'
  const { scope, matching, warnings } = matchedIn(files, actual, options)
  const following = follow(matching.moved)
  const context = contextOf(options, actual, following)
  const planned = plannedIn(matching, context, scope)
  const changes = planned.map(({ change }) => change)
  const isDeleted = (one: Left): boolean =>
    isDoomed(one, prune, source) && scope.isInScope(placeOf(one))
  const { left, deletions, gone } = removalsIn(files, actual, matching, following, isDeleted)
  const all = [
    ...inApplyOrder(changes, matching),
    ...deletions.map((one) => deletionOf(one, source, following.bodyOf)),
  ]
  const isWhole = targets.length === 0 && elsewhere.length === 0
  const staying = isWhole ? left.filter(({ document }) => !gone.has(document)) : []
  const unmanaged = unmanagedIn(staying, source)
  const conflicts = renameConflicts(matching, gone, options.placeOf)
  const renames = renameFindings(matching, options.placeOf)
  return {
    realm: actual.realm,
    baseRevision: actual.revision,
    createRealm: !actual.exists,
    source,
    prune,
    changes: all,
    unmanaged: unmanaged.slice(0, mostUnmanaged),
    unmanagedCount: unmanaged.length,
    warnings: [
      ...warnings.byHand,
      ...lookalikes(all),
      ...renames.warnings,
      ...conflicts.warnings,
      ...(isWhole ? warningsAbout(staying, source, orphansBeside(orphaned, all)) : []),
      ...targeted(targets),
      ...narrowedWarning(elsewhere),
      ...warnings.followed,
      ...cautions(all),
    ],
    problems: sorted([
      ...unreadable(files, actual, options.placeOf),
      ...scope.problems,
      ...renames.problems,
      ...sameNames(changes, left),
      ...conflicts.problems,
      ...planned.flatMap(({ match: one }) => immutableProblems(one, context)),
      ...planned.flatMap(({ match: one }) => movedProblems(one, context)),
      ...planned.flatMap(({ match: one, change }) => newerProblems(one, change, context)),
      ...(takeOver ? [] : ownershipProblems(changes)),
      ...deletions.flatMap((one) => refusalsOf(one, source, takeOver)),
      ...stillNamed(deletions, files.desired, options.placeOf),
    ]),
    impacts: [],
    summary: summaryOf(all),
  }
}
