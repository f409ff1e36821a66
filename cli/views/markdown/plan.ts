/**
 * A plan as a comment on a pull request. Text of files and servers is always inside code, which can neither end its block nor
 * mention users. A comment has a size limit: deletions come first and are never omitted, and omitted changes are counted.
 */

import { isAdoption, isEmpty, type Plan, type RealmPlan, totalOf } from '../../planning/plan.ts'
import { harmless } from '../human/elements/text.ts'
import { changeLines, documentName } from '../plan/change-lines.ts'
import type { Line } from '../plan/lines.ts'
import { quoted } from '../plan/text.ts'
import { countsText, summaryText } from '../plan/words.ts'
import { code, fenced } from './code.ts'
import {
  fitted,
  leftOutText,
  type Optional,
  optionalSize,
  type Parts,
  roomFor,
  sizeOf,
  whereToSee,
} from './fitting.ts'

/** GitHub takes 65,536 characters. */
const mostCharacters = 60_000
/** What a realm's block needs beside its lines. */
const frame = 500
const mostUnmanaged = 20

/** The sign comes first, where the colours of a `diff` block look for it. */
const diffLine = ({ sign, depth, text }: Line): string =>
  `${sign === '~' ? '!' : sign} ${'  '.repeat(depth - 1)}${text}`.trimEnd()

type Deletions = 'whole' | 'named'

/** Deletions by name alone, where they are so many that their fields do not fit. */
const deletionNames = ({ changes }: RealmPlan): string[] =>
  changes
    .filter(({ action }) => action === 'delete')
    .flatMap(({ kind, key, cascades }) => [
      `- ${documentName(kind, key)}`,
      ...cascades.map((along) => `-   ${documentName(along.kind, along.key)} (goes along)`),
    ])

const unmanagedLines = ({ unmanaged, unmanagedCount }: RealmPlan): string[] => {
  const rest = unmanagedCount - Math.min(unmanagedCount, mostUnmanaged)
  return [
    ...(unmanagedCount > 0
      ? [`  # not managed by these files, and left alone (${unmanagedCount}):`]
      : []),
    ...unmanaged
      .slice(0, mostUnmanaged)
      .map(
        ({ kind, key, owner }) =>
          `  #   ${documentName(kind, key)}${owner === null ? '' : ` (owned by ${quoted(owner)})`}`,
      ),
    ...(rest > 0 ? [`  #   (${rest} more)`] : []),
  ]
}

const partsOf = (plan: RealmPlan, deletions: Deletions): Parts => {
  const { realm, createRealm, changes, warnings, problems } = plan
  const linesOf = (change: RealmPlan['changes'][number]): string[] =>
    changeLines(change, plan).map(diffLine)
  const destroyed = changes.filter(({ action }) => action === 'delete')
  const others = changes.filter((change) => change.action !== 'delete' && !isAdoption(change))
  const unmanaged = unmanagedLines(plan)
  return {
    kept: [
      createRealm ? [`+ realm ${harmless(realm)}`] : [],
      ...(deletions === 'whole' ? destroyed.map(linesOf) : [deletionNames(plan)]),
    ],
    optional: [
      ...others.map((change): Optional => ({ lines: linesOf(change), action: change.action })),
      ...(unmanaged.length > 0 ? [{ lines: unmanaged, action: null }] : []),
    ],
    remarks: [
      ...warnings.map((warning) => `! Warning: ${harmless(warning.message)} [${warning.code}]`),
      ...problems.map((problem) => `- Error: ${harmless(problem.message)} [${problem.code}]`),
    ],
  }
}

const keptSize = ({ kept, remarks }: Parts): number =>
  [...kept, remarks].reduce((sum, lines) => sum + sizeOf(lines), frame)

const details = (plan: RealmPlan, parts: Parts, room: number): string => {
  const lines = fitted(parts, room)
  const summary = `Realm ${code(plan.realm)}: ${summaryText(plan)}`
  if (lines.length === 0) return `${summary}\n`
  return [
    `<details><summary>${summary}</summary>`,
    '',
    ...fenced(lines, 'diff'),
    '',
    '</details>',
    '',
  ].join('\n')
}

const refused = (realms: readonly RealmPlan[]): string[] => {
  const names = realms.filter(({ problems }) => problems.length > 0).map(({ realm }) => code(realm))
  return names.length === 0
    ? []
    : ['', `**It cannot be applied as it is:** ${names.slice(0, 20).join(', ')}`]
}

/** A realm of which nothing must be shown, and which may be left out as a whole. */
const isOptional = ({ changes, warnings, problems }: RealmPlan): boolean =>
  problems.length + warnings.length === 0 && !changes.some(({ action }) => action === 'delete')

/** Those that must be shown, and of the others as many as there is room for. */
const shownRealms = (realms: readonly RealmPlan[], most: number): ReadonlySet<RealmPlan> => {
  const must = realms.filter((realm) => !isOptional(realm))
  const others = realms.filter(isOptional)
  return new Set([...must, ...others.slice(0, Math.max(0, most - must.length))])
}

const leftRealms = (left: readonly RealmPlan[]): string[] => {
  if (left.length === 0) return []
  const counts = leftOutText(left.flatMap((realm) => partsOf(realm, 'whole').optional))
  return [
    `… and ${left.length} more realms do not fit here (${counts || 'no changes'}; nothing is destroyed in them): ${whereToSee}.`,
  ]
}

export const planMarkdown = (plan: Plan): string => {
  const { realms } = plan
  const verdict = isEmpty(plan) ? 'no changes' : countsText(totalOf(realms))
  const head = [
    `### iamctl plan: ${verdict}`,
    '',
    `Server ${code(plan.server)}`,
    ...refused(realms),
    '',
  ]
  const room = mostCharacters - head.join('\n').length - frame
  const isShown = shownRealms(realms, Math.floor(room / (2 * frame)))
  const shown = realms.filter((realm) => isShown.has(realm))
  const whole = shown.map((realm) => partsOf(realm, 'whole'))
  const sum = (parts: readonly Parts[]): number =>
    parts.reduce((total, one) => total + keptSize(one), 0)
  const parts = sum(whole) <= room ? whole : shown.map((realm) => partsOf(realm, 'named'))
  const rooms = roomFor(parts.map(optionalSize), room - sum(parts))
  const blocks = shown.map((realm, i) =>
    details(realm, parts[i] ?? { kept: [], optional: [], remarks: [] }, rooms[i] ?? 0),
  )
  const left = realms.filter((realm) => !isShown.has(realm))
  return `${[...head, ...blocks, ...leftRealms(left)].join('\n').trimEnd()}\n`
}
