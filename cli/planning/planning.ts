/**
 * From files to a plan, in as few requests as it takes: one comparison where nothing is to be done; otherwise also the
 * realm as it is and, for what a change reaches, a dry run. A realm that does not exist is planned on its seeds.
 */

import type { CompareReply, Place } from '#schemas/wire/wire.ts'
import type { LoadedRealm } from '../load/loaded.ts'
import { actualOf, actualOfNewRealm } from './actual.ts'
import { dryRunOf, type SecretOf } from './changeset.ts'
import type { Engine } from './engine.ts'
import { comparison, sectionsOf, type Wanted } from './estate/wanted.ts'
import { isDestructive } from './guards.ts'
import { namesOf, placeKey } from './names.ts'
import { clingingSections } from './order/deletions.ts'
import {
  emptySummary,
  hasWork,
  type PlanWarning,
  type Prune,
  type RealmPlan,
  type UnknownSecret,
} from './plan.ts'
import { planRealm } from './plan-realm.ts'
import { narrowedWarning, orphanWarning } from './warnings/left-out.ts'
import { replacementWarnings } from './warnings/replaced-users.ts'
import { mayRaise, riseWarnings } from './warnings/rises.ts'
import { unkeptWarnings } from './warnings/unkept-secrets.ts'
import { unknownWarnings } from './warnings/unknown-secrets.ts'

export interface PlanningOptions {
  readonly source: string
  readonly prune: Prune
  readonly targets: readonly Place[]
  readonly takeOver: boolean
  /** Ask who changed what, as drift does. */
  readonly history: boolean
  /** Ask the server what would happen: of every change, or only where something is destroyed or may be granted. */
  readonly dryRun: 'always' | 'destructive' | 'never'
}

const nothingDiffers = (reply: CompareReply, { prune, targets, history }: PlanningOptions) =>
  targets.length === 0 &&
  !history &&
  reply.differingSections.length === 0 &&
  reply.differingSecrets.length === 0 &&
  (prune !== 'all' || reply.unmanagedCount === 0)

const unchanged = (
  { realm, elsewhere }: LoadedRealm,
  reply: CompareReply,
  { source, prune }: PlanningOptions,
): RealmPlan => ({
  realm,
  baseRevision: reply.revision,
  createRealm: false,
  source,
  prune: elsewhere.length === 0 ? prune : 'none',
  changes: [],
  unmanaged: elsewhere.length === 0 ? reply.unmanaged : [],
  unmanagedCount: elsewhere.length === 0 ? reply.unmanagedCount : 0,
  warnings:
    elsewhere.length === 0
      ? orphanWarning(reply.orphaned, reply.orphanedCount)
      : narrowedWarning(elsewhere),
  problems: [],
  impacts: [],
  summary: emptySummary,
})

const unknownOf = ({ secrets }: Pick<Wanted, 'secrets'>): UnknownSecret[] =>
  secrets
    .filter(({ isUnknown }) => isUnknown)
    .map(({ kind, key, pointer, source }) => ({ kind, key, pointer, source }))

/** What is used only when a document is made is never compared. */
const comparable = (secrets: Wanted['secrets']): UnknownSecret[] =>
  unknownOf({ secrets: secrets.filter(({ initial }) => !initial) })

const wanting = ({ loaded, secrets }: Wanted, options: PlanningOptions) => {
  const sources = new Map(secrets.map(({ sourcePointer, source }) => [sourcePointer, source]))
  return {
    ...options,
    elsewhere: loaded.elsewhere,
    unknownSecrets: comparable(secrets),
    placeOf: (pointer: string) => loaded.placeOf(pointer),
    secretSourceOf: (pointer: string) => {
      const source = sources.get(pointer)
      if (!source) throw new Error(`there is no secret at ${pointer} of realm ${loaded.realm}`)
      return source
    },
  }
}

const lacking = ({ withoutCredentials = [] }: CompareReply): PlanWarning[] =>
  withoutCredentials.length === 0
    ? []
    : [
        {
          code: 'without-credentials',
          message:
            'users came back by a rollback and cannot sign in: they have no credentials. Set a password with ' +
            `\`iamctl users set-password\`: ${namesOf(withoutCredentials)}`,
          documents: withoutCredentials,
        },
      ]

const withWarnings = (plan: RealmPlan, more: readonly PlanWarning[]): RealmPlan =>
  more.length === 0 ? plan : { ...plan, warnings: [...plan.warnings, ...more] }

/** How many of them a plan names; as many as of documents without an owner. */
const mostRegistered = 200

/** Clients that registered themselves and that the files do not name: nothing of a plan touches them. */
const withRegistered = (plan: RealmPlan, { loaded }: Wanted, reply: CompareReply): RealmPlan => {
  const { registered = [], registeredCount = 0 } = reply
  if (registeredCount === 0 || loaded.elsewhere.length > 0) return plan
  const named = new Set(plan.changes.map(({ kind, key }) => placeKey(kind, key)))
  const others = registered.filter(({ kind, key }) => !named.has(placeKey(kind, key)))
  const more = others.map((place) => ({ ...place, owner: null }))
  return {
    ...plan,
    unmanaged: [...plan.unmanaged, ...more].slice(0, mostRegistered),
    unmanagedCount: plan.unmanagedCount + registeredCount - (registered.length - others.length),
  }
}

const drafted = async (
  engine: Engine,
  wanted: Wanted,
  secretOf: SecretOf,
  options: PlanningOptions,
): Promise<RealmPlan> => {
  const { realm } = wanted.loaded
  const reply = await engine.compare(
    realm,
    comparison(wanted, options.source, (secret) => secretOf(realm, secret)),
  )
  // What there is of secrets that are not known, the realm itself tells.
  if (reply !== null && comparable(wanted.secrets).length === 0 && nothingDiffers(reply, options))
    return withRegistered(
      withWarnings(unchanged(wanted.loaded, reply, options), lacking(reply)),
      wanted,
      reply,
    )
  const tools = wanting(wanted, options)
  if (reply === null)
    // A realm is born without secrets: the built-in documents that its files name have none of theirs yet.
    return planRealm(wanted, actualOfNewRealm(realm), {
      ...tools,
      differingSecrets: wanted.secrets,
    })
  const sections = sectionsOf(wanted)
  const exported = await engine.exportRealm(realm, {
    builtIns: true,
    sections: [...sections, ...clingingSections(sections)],
    ...(options.history ? { history: true } : {}),
  })
  const { differingSecrets, orphaned: left } = reply
  const plan = planRealm(wanted, actualOf(exported, sections), {
    ...tools,
    differingSecrets,
    orphaned: left,
  })
  return withRegistered(withWarnings(plan, lacking(reply)), wanted, reply)
}

/** Documents that no file names are written along: their references follow, or their stored secrets are hashed. */
const reachesOthers = ({ changes }: RealmPlan): boolean =>
  changes.some(
    ({ action, fields }) =>
      action === 'rename' || fields.some(({ pointer }) => pointer === '/clientSecretStorage'),
  )

const asksServer = (plan: RealmPlan, { dryRun }: PlanningOptions): boolean =>
  plan.problems.length === 0 &&
  hasWork(plan) &&
  (dryRun === 'always' ||
    (dryRun === 'destructive' && (isDestructive(plan) || mayRaise(plan) || reachesOthers(plan))))

/** The plan of one realm, with a callback before the dry run of the server. */
export const planWanted = async (
  engine: Engine,
  wanted: Wanted,
  secretOf: SecretOf,
  options: PlanningOptions,
  onDraft?: (plan: RealmPlan) => void,
): Promise<RealmPlan> => {
  const draft = await drafted(engine, wanted, secretOf, options)
  const unknownSecrets = unknownOf(wanted)
  const plan: RealmPlan = {
    ...draft,
    ...(unknownSecrets.length > 0 ? { unknownSecrets } : {}),
    warnings: [
      ...draft.warnings,
      ...unkeptWarnings(draft),
      ...unknownWarnings({ ...draft, unknownSecrets: comparable(wanted.secrets) }),
    ],
  }
  onDraft?.(plan)
  if (!asksServer(plan, options)) return plan
  const request = dryRunOf(plan, { ...options, provenance: {}, allowUnrelated: false, secretOf })
  const { impacts, along } = await engine.changeset(plan.realm, request)
  const summary = { ...plan.summary, along }
  const told = [...riseWarnings(impacts), ...replacementWarnings(impacts)]
  return { ...plan, impacts, summary, warnings: [...plan.warnings, ...told] }
}
