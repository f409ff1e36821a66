/** One change as lines: what happens to the document, what it reaches, and the fields in between braces. */

import { isObject } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { IdentityProvider } from '#schemas/kinds/sign-in/identity-provider.ts'
import { complete } from '#schemas/normalize.ts'
import { kindNamed, kinds } from '#schemas/registry.ts'
import type { Impact, LastChange } from '#schemas/wire/wire.ts'
import { nameOf } from '../../planning/names.ts'
import type { Change, RealmPlan } from '../../planning/plan.ts'
import { referredKinds } from '../../planning/renames/follow.ts'
import { isUnknown, unknownText } from '../../planning/warnings/unknown-secrets.ts'
import { harmless } from '../human/elements/text.ts'
import { moment } from '../human/elements/values.ts'
import { withCertificateFacts } from './certificates.ts'
import { counted, type Line, note, type Sign } from './lines.ts'
import { quoted } from './text.ts'
import { memberLines, padded, secretMark, wholeLines } from './value-lines.ts'

/** How many of the documents that go along are named. */
const mostNamed = 10

export const signOf = ({ action }: Change): Sign =>
  action === 'create' ? '+' : action === 'delete' ? '-' : '~'

export const documentName = (kind: string, key: string): string => harmless(nameOf(kind, key))

const adoption = ({ adopts, takenFrom, protected: guard }: Change): string => {
  if (takenFrom !== null) return `will be taken over from ${quoted(takenFrom)}`
  if (adopts) return 'will be adopted'
  return guard.after ? 'will be protected' : 'will no longer be protected'
}

const headline = (change: Change): string => {
  const { action, kind, key, from } = change
  const name = documentName(kind, key)
  if (action === 'create') return `${name} will be created`
  if (action === 'delete') return `${name} will be destroyed`
  if (action === 'rename')
    return `${documentName(kind, from ?? '')} will be renamed to ${quoted(key)}`
  return action === 'adopt' ? `${name} ${adoption(change)}` : `${name} will be updated in-place`
}

/** Users of an identity provider are not in it, and those who have no other way in cannot sign in any more. */
const throughProvider = {
  members: ['signs in through it', 'sign in through it'],
  users: ['loses the only way to sign in', 'lose the only way to sign in'],
} as const

/** Kinds that are granted are held; users are in the others. */
const isHeld = (kind: string): boolean =>
  kindNamed(kind).shape !== 'tree' &&
  kinds.some((other) =>
    referredKinds(other)
      .get(kind)
      ?.some(({ grants }) => grants),
  )

/** What a change reaches beyond the document and those that are named with it. */
export const impactText = (impact: Impact, named = 0): string => {
  const { kind, members, users, sessions } = impact
  const documents = impact.documents - named
  const byKind = {
    members: isHeld(kind)
      ? (['holds it', 'hold it'] as const)
      : (['is in it', 'are in it'] as const),
    users: ['is affected', 'are affected'] as const,
  }
  const words = kind === IdentityProvider.kind ? throughProvider : byKind
  const parts = [
    [members, 'user', ...words.members],
    [users, 'user', ...words.users],
    [sessions, 'session', 'ends', 'end'],
    [documents, 'other document', 'changes or goes along', 'change or go along'],
  ] as const
  const reached = parts
    .filter(([count]) => count > 0)
    .map(([count, word, one, many]) => `${counted(count, word)} ${count === 1 ? one : many}`)
  const rise = impact.gains ? [`rise of privilege: gains ${impact.gains.join(', ')}`] : []
  return [...rise.map(harmless), ...(reached.length > 0 ? [reached.join(', ')] : [])].join('; ')
}

const changedBy = ({ at, actor, actorName, source, revision }: LastChange): string =>
  harmless(`by ${actorName ?? actor} on ${moment(at)} (${source}, revision ${revision})`)

const remarks = (change: Change, plan: RealmPlan): string[] => {
  const { action, kind, key, adopts, takenFrom, cascades, lastChange } = change
  const impact = plan.impacts.find((one) => one.kind === kind && one.key === key)
  const names = cascades.slice(0, mostNamed).map((one) => documentName(one.kind, one.key))
  const rest = cascades.length - names.length
  return [
    ...(action === 'delete' ? ['(it is not in the files)'] : []),
    ...(takenFrom !== null && action !== 'adopt'
      ? [`(${action === 'delete' ? 'owned by' : 'taken over from'} ${quoted(takenFrom)})`]
      : []),
    ...(adopts && takenFrom === null && action !== 'adopt' && !plan.createRealm
      ? ['(adopted: no source owned it)']
      : []),
    ...(impact ? [impactText(impact, cascades.length)].filter((text) => text !== '') : []),
    ...(cascades.length > 0
      ? [
          `${counted(cascades.length, 'document')} ${cascades.length === 1 ? 'goes' : 'go'} along: ` +
            `${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`,
        ]
      : []),
    ...(lastChange
      ? [`${action === 'create' ? 'deleted' : 'last changed'} ${changedBy(lastChange)}`]
      : []),
  ]
}

/** The document with a mark where each of these secrets would stand. */
const withMarks = (
  doc: Readonly<Record<string, unknown>>,
  marks: readonly (readonly [pointer: string, text: string])[],
): Record<string, unknown> => {
  const copy = structuredClone(doc) as Record<string, unknown>
  for (const [pointer, text] of marks) {
    const path = pointer.slice(1).split('/')
    const last = path.pop() ?? ''
    let place = copy
    for (const name of path) {
      const inner = isObject(place[name]) ? place[name] : {}
      place[name] = inner
      place = inner
    }
    place[last] = secretMark(text)
  }
  return copy
}

/** Fields in the order of the schema, as in the other forms. */
export const wholeDocument = (
  { spec }: Kind,
  doc: Readonly<Record<string, unknown>>,
  sign: Sign,
): Line[] => {
  const names = [...new Set([...Object.keys(spec.properties ?? {}), ...Object.keys(doc)])].filter(
    (name) => doc[name] !== undefined,
  )
  return names.flatMap((name) =>
    wholeLines(doc[name], {
      sign,
      depth: 2,
      label: `${padded(name, names)} = `,
      end: sign === '-' ? ' -> null' : '',
    }),
  )
}

const secretWords = { set: 'set', changed: 'changed', again: 'given again' }

const body = (change: Change, plan: RealmPlan): Line[] => {
  const { before, doc, secrets, protected: guard } = change
  const kind = kindNamed(change.kind)
  const marks = secrets.map(({ pointer, change: how, source }) => {
    const place = { kind: change.kind, key: change.key, pointer }
    const text = isUnknown(plan, place) ? unknownText(source) : `(secret) ${secretWords[how]}`
    return [pointer, text] as const
  })
  const readable = (value: Readonly<Record<string, unknown>>) =>
    withCertificateFacts(kind.spec, value)
  if (doc === null) return wholeDocument(kind, readable(before ?? {}), '-')
  if (before === null)
    return wholeDocument(
      kind,
      { ...withMarks(readable(doc), marks), ...(guard.after ? { protected: true } : {}) },
      '+',
    )
  const stored = secrets
    .filter(({ change: how }) => how !== 'set')
    .map(({ pointer }) => [pointer, ''] as const)
  const shield = (value: boolean) => (guard.before === guard.after ? {} : { protected: value })
  return memberLines(
    kind.spec,
    { ...withMarks(readable(complete(kind, before)), stored), ...shield(guard.before) },
    { ...withMarks(readable(complete(kind, doc)), marks), ...shield(guard.after) },
    2,
  )
}

export const changeLines = (change: Change, plan: RealmPlan): Line[] => {
  const inner = body(change, plan)
  const name = documentName(change.kind, change.key)
  const sign = signOf(change)
  return [
    { ...note(1, headline(change)), isHeadline: true },
    ...remarks(change, plan).map((text) => note(1, text)),
    { sign, depth: 1, text: `${name} {` },
    ...inner,
    { sign: ' ', depth: 1, text: '}' },
  ]
}
