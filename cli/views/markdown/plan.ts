/**
 * A plan as a comment on a pull request. What comes from files and servers stands only inside of code: it can neither
 * end its block nor mention anybody. A comment has a limit; what does not fit is left out and said to be.
 */

import { isAdoption, isEmpty, type Plan, type RealmPlan, totalOf } from '../../plan/plan.ts'
import { harmless } from '../human/text.ts'
import { changeLines, documentName } from '../plan/change-lines.ts'
import type { Line } from '../plan/lines.ts'
import { quoted } from '../plan/text.ts'
import { countsText, summaryText } from '../plan/words.ts'

/** GitHub takes 65,536 characters. */
const mostCharacters = 60_000
/** What a realm's block needs beside its lines. */
const frame = 400
const mostUnmanaged = 20

/** Text inside of `<code>`, on one line; what could be markup, or a mention, is written by its number. */
const code = (text: string): string =>
  `<code>${harmless(text).replaceAll(
    /[^\p{L}\p{N} :./-]/gu,
    (character) => `&#${character.codePointAt(0)};`,
  )}</code>`

/** The sign comes first, where the colours of a `diff` block look for it. */
const diffLine = ({ sign, depth, text }: Line): string =>
  `${sign === '~' ? '!' : sign} ${'  '.repeat(depth - 1)}${text}`.trimEnd()

const linesOf = (plan: RealmPlan): string[] => {
  const { realm, createRealm, changes, unmanaged, unmanagedCount, warnings, problems } = plan
  const rest = unmanagedCount - Math.min(unmanagedCount, mostUnmanaged)
  const remarks = [
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
    ...warnings.map((warning) => `! Warning: ${harmless(warning.message)} [${warning.code}]`),
    ...problems.map((problem) => `- Error: ${harmless(problem.message)} [${problem.code}]`),
  ]
  const blocks = [
    createRealm ? [`+ realm ${harmless(realm)}`] : [],
    ...changes
      .filter((change) => !isAdoption(change))
      .map((change) => changeLines(change, plan).map(diffLine)),
    remarks,
  ]
  return blocks
    .filter((lines) => lines.length > 0)
    .flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]))
}

/** As many lines as fit, and a note about the others. */
const fitted = (lines: readonly string[], room: number): string[] => {
  let used = 0
  const count = lines.findIndex((line) => {
    used += line.length + 1
    return used > room
  })
  if (count < 0) return [...lines]
  const left = lines.length - count
  return [
    ...lines.slice(0, count),
    `# … ${left} more lines do not fit here: run \`iamctl plan\` to see them`,
  ]
}

/** A fence that nothing inside can close. */
const fenceFor = (lines: readonly string[]): string => {
  const runs = lines.flatMap((line) => line.match(/`+/g) ?? [])
  return '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)))
}

const details = (plan: RealmPlan, all: readonly string[], room: number): string[] => {
  const lines = fitted(all, room - frame)
  const summary = `Realm ${code(plan.realm)}: ${summaryText(plan)}`
  if (lines.length === 0) return [summary, '']
  const fence = fenceFor(lines)
  return [
    `<details><summary>${summary}</summary>`,
    '',
    `${fence}diff`,
    ...lines,
    fence,
    '',
    '</details>',
    '',
  ]
}

/** The small ones get what they need, the large ones share what is left. */
const roomFor = (needs: readonly number[], room: number): number[] => {
  const shares = needs.map(() => 0)
  const ascending = [...needs.keys()].sort((a, b) => (needs[a] ?? 0) - (needs[b] ?? 0))
  let left = room
  for (const [i, index] of ascending.entries()) {
    const share = Math.min(needs[index] ?? 0, Math.floor(left / (needs.length - i)))
    shares[index] = share
    left -= share
  }
  return shares
}

const refused = (realms: readonly RealmPlan[]): string[] => {
  const names = realms.filter(({ problems }) => problems.length > 0).map(({ realm }) => code(realm))
  return names.length === 0
    ? []
    : ['', `**It cannot be applied as it is:** ${names.slice(0, 20).join(', ')}`]
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
  const shown = realms.slice(0, Math.floor(room / (2 * frame)))
  const lines = shown.map(linesOf)
  const needs = lines.map((list) => list.reduce((sum, line) => sum + line.length + 1, frame))
  const rooms = roomFor(needs, room)
  const blocks = shown.map((realm, i) => details(realm, lines[i] ?? [], rooms[i] ?? 0).join('\n'))
  const rest = realms.length - shown.length
  const more = `… and ${rest} more realms do not fit here: run \`iamctl plan\` to see them.`
  return `${[...head, ...blocks, ...(rest > 0 ? [more] : [])].join('\n').trimEnd()}\n`
}
