/** The lines of values: what is new or gone as a whole, and what changes within it, down to items and lines of text. */

import { isDeepStrictEqual } from 'node:util'
import { isObject, type JsonSchema } from '#schemas/json-schema.ts'
import { own } from '#schemas/own.ts'
import { propertySchema } from '#schemas/walk.ts'
import { harmless } from '../human/elements/text.ts'
import { counted, type Line, note, type Sign } from './lines.ts'
import { type Step, stepsBetween } from './sequence.ts'
import { fieldName, scalar, transition } from './text.ts'

/** Of a list or a text that is new or gone as a whole. */
const mostItems = 40
const mostTextLines = 12
/** Of one that changes. */
const mostChanges = 100
/** Lines of text shown on either side of a change. */
const context = 2

const secretText = Symbol('secret')

/** Stands where a secret would; its value is not known here. */
export interface SecretMark {
  readonly [secretText]: string
}
export const secretMark = (text: string): SecretMark => ({ [secretText]: text })
const isSecretMark = (value: unknown): value is SecretMark => isObject(value) && secretText in value

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.trimEnd().includes('\n')

const line = (sign: Sign, depth: number, text: string): Line => ({ sign, depth, text })
const closing = (depth: number, text: string): Line => line(' ', depth, text)

const textLines = (text: string): string[] => text.replace(/\n$/, '').split('\n')

/** One line of a longer text. */
const shownLine = (text: string): string => (text.length > 200 ? scalar(text) : harmless(text))

interface Whole {
  readonly sign: Sign
  readonly depth: number
  /** Before the value: `name = `. */
  readonly label: string
  /** Behind it: a comma, or ` -> null`. */
  readonly end: string
}

const cutLines = (items: readonly Line[][], most: number, depth: number, word: string): Line[] => {
  const rest = items.length - most
  return [
    ...items.slice(0, most).flat(),
    ...(rest > 0 ? [note(depth, `(${rest} more ${word}${rest === 1 ? '' : 's'})`)] : []),
  ]
}

/** A value that is new or gone as a whole. */
export const wholeLines = (value: unknown, place: Whole): Line[] => {
  const { sign, depth, label, end } = place
  if (isSecretMark(value)) return [line(sign, depth, `${label}${value[secretText]}${end}`)]
  if (isText(value)) {
    const texts = textLines(value).map((text) => [line(sign, depth + 1, shownLine(text))])
    return [
      line(sign, depth, `${label}<<EOT`),
      ...cutLines(texts, mostTextLines, depth + 1, 'line'),
      closing(depth, `EOT${end}`),
    ]
  }
  if (Array.isArray(value) && value.length > 0) {
    const items = value.map((item) =>
      wholeLines(item, { sign, depth: depth + 1, label: '', end: ',' }),
    )
    return [
      line(sign, depth, `${label}[`),
      ...cutLines(items, mostItems, depth + 1, 'item'),
      closing(depth, `]${end}`),
    ]
  }
  if (isObject(value) && Object.keys(value).length > 0) {
    const names = Object.keys(value)
    return [
      line(sign, depth, `${label}{`),
      ...names.flatMap((name) =>
        wholeLines(value[name], {
          sign,
          depth: depth + 1,
          label: `${padded(name, names)} = `,
          end: '',
        }),
      ),
      closing(depth, `}${end}`),
    ]
  }
  return [line(sign, depth, `${label}${scalar(value)}${end}`)]
}

/** Names of one block are as wide as the longest of them. */
export const padded = (name: string, names: readonly string[]): string =>
  fieldName(name).padEnd(Math.max(...names.map((other) => fieldName(other).length)))

const hidden = (depth: number, count: number, word: string): Line[] =>
  count > 0 ? [note(depth, `(${counted(count, `unchanged ${word}`)} hidden)`)] : []

/** Runs of steps with the same meaning: what stays, or a hunk of what goes and comes. */
const hunksOf = <T>(steps: readonly Step<T>[]): (readonly Step<T>[])[] => {
  const hunks: Step<T>[][] = []
  for (const step of steps) {
    const last = hunks.at(-1)
    if (last && (last[0]?.sign === ' ') === (step.sign === ' ')) last.push(step)
    else hunks.push([step])
  }
  return hunks
}

/** Whether one item can be read as the other, changed: what they begin with, such as a name, is the same. */
const isAlike = (schema: JsonSchema, before: unknown, after: unknown): boolean => {
  if (!isObject(before) || !isObject(after)) return false
  const names = [...Object.keys(schema.properties ?? {}), ...Object.keys(before)]
  const first = names.find(
    (name) => own(before, name) !== undefined || own(after, name) !== undefined,
  )
  return first !== undefined && isDeepStrictEqual(own(before, first), own(after, first))
}

/** Items that go and come at one place; where one is like another, as that one changed. */
const hunkLines = (schema: JsonSchema, hunk: readonly Step<unknown>[], depth: number): Line[][] => {
  const gone = hunk.filter(({ sign }) => sign === '-').map(({ value }) => value)
  const come = hunk.filter(({ sign }) => sign === '+').map(({ value }) => value)
  const whole = (sign: Sign, value: unknown): Line[] =>
    wholeLines(value, { sign, depth, label: '', end: ',' })
  const lines: Line[][] = []
  for (const item of gone) {
    const like = come.findIndex((other) => isAlike(schema.items ?? {}, item, other))
    if (like < 0) lines.push(whole('-', item))
    else {
      const [now, ...before] = come.splice(0, like + 1).reverse()
      lines.push(...before.reverse().map((value) => whole('+', value)))
      lines.push(itemLines(schema.items ?? {}, item, now, depth))
    }
  }
  return [...lines, ...come.map((value) => whole('+', value))]
}

/** An item that changes, with the members by which it is known. */
const itemLines = (schema: JsonSchema, before: unknown, after: unknown, depth: number): Line[] => {
  if (!isObject(before) || !isObject(after)) return []
  return [
    line('~', depth, '{'),
    ...memberLines(schema, before, after, depth + 1, true),
    closing(depth, '},'),
  ]
}

const setLines = (
  schema: JsonSchema,
  before: readonly unknown[],
  after: readonly unknown[],
  depth: number,
): Line[] => {
  const texts = (list: readonly unknown[]) => new Set(list.map((item) => JSON.stringify(item)))
  const [old, now] = [texts(before), texts(after)]
  const gone = before.filter((item) => !now.has(JSON.stringify(item)))
  const come = after.filter((item) => !old.has(JSON.stringify(item)))
  const hunk: Step<unknown>[] = [
    ...gone.map((value): Step<unknown> => ({ sign: '-', value })),
    ...come.map((value): Step<unknown> => ({ sign: '+', value })),
  ]
  return [
    ...cutLines(hunkLines(schema, hunk, depth), mostChanges, depth, 'item'),
    ...hidden(depth, after.length - come.length, 'item'),
  ]
}

const listLines = (
  schema: JsonSchema,
  before: readonly unknown[],
  after: readonly unknown[],
  depth: number,
): Line[] =>
  hunksOf(stepsBetween(before, after, isDeepStrictEqual)).flatMap((hunk) =>
    hunk[0]?.sign === ' '
      ? hidden(depth, hunk.length, 'item')
      : cutLines(hunkLines(schema, hunk, depth), mostChanges, depth, 'item'),
  )

const textChanges = (before: string, after: string, depth: number): Line[] => {
  const steps = stepsBetween(textLines(before), textLines(after), (a, b) => a === b)
  const hunks = hunksOf(steps)
  const lines = hunks.flatMap((hunk, i) => {
    const all = hunk.map(({ sign, value }) => [line(sign, depth, shownLine(value))])
    if (hunk[0]?.sign !== ' ') return cutLines(all, mostChanges, depth, 'line')
    const head = i === 0 ? 0 : context
    const tail = i === hunks.length - 1 ? 0 : context
    if (hunk.length <= head + tail + 1) return all.flat()
    return [
      ...all.slice(0, head).flat(),
      ...hidden(depth, hunk.length - head - tail, 'line'),
      ...all.slice(hunk.length - tail).flat(),
    ]
  })
  const ends = [before, after].map((text) => text.endsWith('\n'))
  const end =
    ends[0] === ends[1]
      ? []
      : [note(depth, `(${ends[1] ? 'now' : 'no longer'} with a line break at the end)`)]
  return [...lines, ...end]
}

/** The members of an object that differ, and how many do not; `showsNames`: texts that stay are shown too. */
export const memberLines = (
  schema: JsonSchema,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  depth: number,
  showsNames = false,
): Line[] => {
  const declared = Object.keys(schema.properties ?? {})
  const all = [...new Set([...declared, ...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => own(before, name) !== undefined || own(after, name) !== undefined,
  )
  const stays = (name: string): boolean => isDeepStrictEqual(own(before, name), own(after, name))
  const shown = all.filter(
    (name) => !stays(name) || (showsNames && typeof own(after, name) === 'string'),
  )
  return [
    ...shown.flatMap((name) => {
      const place = { depth, label: `${padded(name, shown)} = `, end: '' }
      return stays(name)
        ? wholeLines(own(after, name), { ...place, sign: ' ' })
        : changedLines(
            propertySchema(schema, name) ?? {},
            own(before, name),
            own(after, name),
            place,
          )
    }),
    ...hidden(depth, all.length - shown.length, 'field'),
  ]
}

/** A value that differs. */
const changedLines = (
  schema: JsonSchema,
  before: unknown,
  after: unknown,
  place: Omit<Whole, 'sign'>,
): Line[] => {
  const { depth, label, end } = place
  if (before === undefined) return wholeLines(after, { ...place, sign: '+' })
  if (after === undefined) return wholeLines(before, { ...place, sign: '-', end: `${end} -> null` })
  const block = (open: string, lines: readonly Line[], close: string): Line[] => [
    line('~', depth, `${label}${open}`),
    ...lines,
    closing(depth, `${close}${end}`),
  ]
  if (isSecretMark(after)) return [line('~', depth, `${label}${after[secretText]}${end}`)]
  if (Array.isArray(before) && Array.isArray(after))
    return block(
      '[',
      schema['x-set']
        ? setLines(schema, before, after, depth + 1)
        : listLines(schema, before, after, depth + 1),
      ']',
    )
  if (isObject(before) && isObject(after))
    return block('{', memberLines(schema, before, after, depth + 1), '}')
  if (isText(before) || isText(after))
    return block('<<EOT', textChanges(String(before), String(after), depth + 1), 'EOT')
  return [line('~', depth, `${label}${transition(before, after)}${end}`)]
}
