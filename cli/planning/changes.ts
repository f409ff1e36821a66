/** The change of one entry of the files: create, update, rename, adopt or none. */

import { isDeepStrictEqual } from 'node:util'
import { diff } from '#schemas/diff.ts'
import { movedSecretError, movedSecrets } from '#schemas/rules/sent-secrets.ts'
import { secretFields } from '#schemas/walk.ts'
import type { LastChange } from '#schemas/wire/wire.ts'
import type { Place as SourcePlace } from '../diagnostics.ts'
import type { SecretSource } from '../load/loaded.ts'
import { nameOf, placeKey } from './names.ts'
import type { Action, Change, PlanProblem, SecretChange } from './plan.ts'
import type { Following } from './renames/follow.ts'
import type { Match } from './renames/match.ts'

export interface ChangeContext {
  readonly source: string
  readonly following: Following
  /** `secretKey` of the secrets that the server has otherwise. */
  readonly differing: ReadonlySet<string>
  /** `secretKey` of those whose values are not known here. */
  readonly unknown: ReadonlySet<string>
  readonly deleted: ReadonlyMap<string, LastChange>
  readonly placeOf: (pointer: string) => SourcePlace | undefined
  readonly secretSourceOf: (pointer: string) => SecretSource
}

export const secretKey = (kind: string, key: string, pointer: string): string =>
  `${placeKey(kind, key)}\n${pointer}`

const secretsOf = (
  { desired, actual }: Match,
  { differing, unknown, following, secretSourceOf }: ChangeContext,
): SecretChange[] => {
  const { kind } = desired
  const moved = actual ? movedSecrets(kind, following.bodyOf(actual), desired.body) : []
  return secretFields(kind).flatMap(({ pointer, mark }): SecretChange[] => {
    if (desired.secrets[pointer] === undefined) return []
    const source = (): SecretSource => secretSourceOf(`${desired.pointer}${pointer}`)
    if (!actual) return [{ pointer, change: 'set', source: source() }]
    const isStored = actual.storedSecrets.includes(pointer)
    const isOneOf = (places: ReadonlySet<string>): boolean =>
      [desired.key, actual.key].some((key) => places.has(secretKey(kind.kind, key, pointer)))
    // Of a value that is not known, it is known whether there was none.
    const differs =
      mark.store !== 'initial' && (isOneOf(differing) || (!isStored && isOneOf(unknown)))
    if (!differs && isStored && moved.some((one) => one.pointer === pointer))
      return [{ pointer, change: 'again', source: source() }]
    if (!differs) return []
    return [{ pointer, change: isStored ? 'changed' : 'set', source: source() }]
  })
}

const fieldsOf = ({ desired, actual }: Match, following: Following): Change['fields'] => {
  if (!actual || (desired.hash === actual.hash && !following.isAffected(actual))) return []
  return diff(desired.kind, following.bodyOf(actual), desired.body)
}

const actionOf = (match: Match, change: Omit<Change, 'action'>): Action | null => {
  if (!match.actual) return 'create'
  if (match.from !== null) return 'rename'
  if (change.fields.length > 0 || change.secrets.length > 0) return 'update'
  const { before, after } = change.protected
  return change.adopts || before !== after ? 'adopt' : null
}

/** Of nearly all documents of a large realm the hash says enough. */
const isAsItShouldBe = (
  { desired, actual, from }: Match,
  { source, following, differing, unknown }: ChangeContext,
): boolean =>
  actual !== null &&
  from === null &&
  (differing.size + unknown.size === 0 || Object.keys(desired.secrets).length === 0) &&
  desired.hash === actual.hash &&
  desired.protected === actual.protected &&
  actual.owner === source &&
  !following.isAffected(actual)

export const changeOf = (match: Match, context: ChangeContext): Change | null => {
  if (isAsItShouldBe(match, context)) return null
  const { desired, actual, from } = match
  const { kind, key, body } = desired
  const change = {
    kind: kind.kind,
    key,
    from,
    before: null,
    doc: body,
    ifHash: actual?.hash ?? null,
    fields: fieldsOf(match, context.following),
    secrets: secretsOf(match, context),
    protected: { before: actual?.protected ?? false, after: desired.protected },
    adopts: actual !== null && actual.owner !== context.source,
    takenFrom: actual && actual.owner !== context.source ? actual.owner : null,
    cascades: [],
    place: null,
    lastChange: actual
      ? actual.lastChange
      : (context.deleted.get(placeKey(kind.kind, key)) ?? null),
  }
  const action = actionOf(match, change)
  if (action === null) return null
  const place = context.placeOf(desired.pointer) ?? null
  return { action, ...change, before: actual && context.following.bodyOf(actual), place }
}

/** Fields that are set once: the document must get another name, or be deleted by a person. */
export const immutableProblems = (
  { desired, actual }: Match,
  { following, placeOf }: ChangeContext,
): PlanProblem[] => {
  const { kind, key, body, pointer } = desired
  const fields = Object.entries(kind.spec.properties ?? {}).filter(
    ([, schema]) => schema['x-immutable'],
  )
  if (!actual || fields.length === 0) return []
  const before = following.bodyOf(actual)
  return fields
    .filter(([field]) => !isDeepStrictEqual(before[field], body[field]))
    .map(([field]) => ({
      code: 'immutable',
      kind: kind.kind,
      key,
      message:
        `${nameOf(kind.kind, key)}: ${field} is ${JSON.stringify(before[field] ?? null)} and cannot become ` +
        `${JSON.stringify(body[field] ?? null)}; declare it under another ${kind.keyFields.join('/')}, or ` +
        'delete it by hand first: it is never deleted and made again by an apply',
      place: placeOf(`${pointer}/${field}`) ?? placeOf(pointer) ?? null,
    }))
}

/** Secrets that do not go along when the place changes that they are sent to. */
export const movedProblems = (
  { desired, actual }: Match,
  { following, placeOf }: ChangeContext,
): PlanProblem[] => {
  if (!actual) return []
  const { kind, key, body, secrets, pointer } = desired
  return movedSecrets(kind, following.bodyOf(actual), body)
    .filter(
      (moved) =>
        actual.storedSecrets.includes(moved.pointer) && secrets[moved.pointer] === undefined,
    )
    .map((moved) => ({
      code: 'secret-moved',
      kind: kind.kind,
      key,
      message: `${nameOf(kind.kind, key)}: ${movedSecretError(moved).message}`,
      place: placeOf(`${pointer}${moved.because}`) ?? placeOf(pointer) ?? null,
    }))
}

/** Fields that a newer server has: the files cannot name them, and a document is always written as a whole. */
export const newerProblems = (
  { desired, actual }: Match,
  { fields }: Change,
  { placeOf }: ChangeContext,
): PlanProblem[] => {
  const { kind, key, pointer } = desired
  const strange = actual
    ? Object.keys(actual.body).filter((name) => kind.spec.properties?.[name] === undefined)
    : []
  if (strange.length === 0 || fields.length === 0) return []
  return [
    {
      code: 'newer-server',
      kind: kind.kind,
      key,
      message:
        `${nameOf(kind.kind, key)} has fields that this iamctl does not know and would remove: ${strange.join(', ')}; ` +
        'use an iamctl of the version that the server has',
      place: placeOf(pointer) ?? null,
    },
  ]
}
