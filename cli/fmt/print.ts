/**
 * The tree -> YAML: block style, two spaces; braces stay where they fit on a line; one empty line at most, line
 * feeds, and one at the end.
 */

import {
  type Collection,
  type Entry,
  type FileDocument,
  isCollection,
  isEmptyText,
  type Text,
  type Value,
} from './tree.ts'

const step = '  '

/** `|`, `>-`, `|2+ # comment`: an indentation indicator is needed only if the text begins with spaces. */
const blockLines = (text: string, column: number, indent: string): string[] => {
  const [header = '', ...body] = text.replace(/\n$/, '').split('\n')
  const [, sign = '|', marks = '', rest = ''] = /^([|>])([-+\d]*)(.*)$/.exec(header) ?? []
  const digit = /\d/.exec(marks)?.[0]
  const first = body.find((line) => line.trim() !== '') ?? ''
  const own = digit === undefined ? first.search(/\S/) : column + Number(digit)
  const lines = body.map((line) => line.slice(Math.max(own, 0)))
  const isIndented = digit !== undefined && first.slice(own).startsWith(' ')
  const chomping = marks.replace(/\d/, '')
  return [
    `${sign}${isIndented ? step.length : ''}${chomping}${rest.trimEnd()}`,
    ...lines.map((line) => (line === '' ? '' : indent + line)),
  ]
}

const flowLines = (text: string, indent: string): string[] =>
  text.split('\n').map((line, i) => {
    if (i === 0) return line.trimEnd()
    return line.trim() === '' ? '' : indent + line.trim()
  })

/** The lines of a scalar: the first follows its key. */
const textLines = (value: Text, column: number, indent: string): string[] => {
  const [first = '', ...others] =
    value.style === 'block' ? blockLines(value.text, column, indent) : flowLines(value.text, indent)
  return [[value.props, first].filter((part) => part !== '').join(' '), ...others]
}

const joined = (...parts: readonly (string | null)[]): string =>
  parts.filter((part) => part !== null && part !== '').join(' ')

const commentLines = (lines: readonly string[], indent: string): string[] =>
  lines.map((line) => (line === '' ? '' : indent + line))

const widest = 100

/** A value between braces, on one line; null where it does not fit there. */
const bracesOf = (value: Value): string | null => {
  if (!isCollection(value))
    return value.style === 'block' || value.inBraces.includes('\n')
      ? null
      : joined(value.props, value.inBraces)
  const parts = value.entries.map(({ key, value: inner, leading, trailing }) => {
    const text = bracesOf(inner)
    const isApart = leading.length > 0 || trailing !== null || /[,[\]{}]/.test(key ?? '')
    if (text === null || isApart || (text === '' && key === null)) return null
    return key === null ? text : joined(`${key}:`, text)
  })
  if (value.below.length > 0 || parts.includes(null)) return null
  const inner = parts.join(', ')
  const braces = value.type === 'list' ? `[${inner}]` : inner === '' ? '{}' : `{ ${inner} }`
  return joined(value.props, braces)
}

/** What stands behind a key or a dash, and what below. */
const entryLines = (entry: Entry, indent: string): string[] => {
  const { key, value, trailing, column } = entry
  const head = key === null ? '-' : `${key}:`
  const inner = indent + step
  if (!isCollection(value)) {
    const [first = '', ...others] = textLines(value, column, inner)
    const last = others.pop()
    if (last === undefined || value.style === 'block')
      return [
        indent + joined(head, first, trailing),
        ...others,
        ...(last === undefined ? [] : [last]),
      ]
    return [indent + joined(head, first), ...others, joined(last, trailing)]
  }
  if (value.entries.length === 0) {
    const empty = value.type === 'map' ? '{}' : '[]'
    return [indent + joined(head, value.props, empty, trailing)]
  }
  const braces = value.flow ? bracesOf(value) : null
  if (braces !== null) {
    const line = indent + joined(head, braces, trailing)
    if (line.length <= widest) return [line]
  }
  const below = collectionLines(value, inner)
  if (key !== null || value.props !== '')
    return [indent + joined(head, value.props, trailing), ...below]
  // `- name: x`: comments on the first field go above the dash.
  const start = below.findIndex((line) => line !== '' && !line.startsWith(`${inner}#`))
  const above = below
    .slice(0, start)
    .map((line) => (line === '' ? '' : indent + line.slice(inner.length)))
  const first = `${indent}- ${(below[start] ?? '').slice(inner.length)}`
  const comments = trailing === null ? above : [...above, indent + trailing]
  return [...comments, first, ...below.slice(start + 1)]
}

const collectionLines = ({ entries, below }: Collection, indent: string): string[] => {
  const lines: string[] = []
  for (const [i, entry] of entries.entries()) {
    if (entry.blankBefore && i > 0 && lines.at(-1) !== '') lines.push('')
    lines.push(...commentLines(entry.leading, indent), ...entryLines(entry, indent))
  }
  return [...lines, ...commentLines(below, indent)]
}

const rootLines = ({ root }: FileDocument): string[] => {
  if (root === null || isEmptyText(root)) return []
  if (!isCollection(root)) return textLines(root, 0, root.style === 'block' ? step : '')
  if (root.entries.length === 0) return [joined(root.props, root.type === 'map' ? '{}' : '[]')]
  return [...(root.props === '' ? [] : [root.props]), ...collectionLines(root, '')]
}

export const printDocuments = (documents: readonly FileDocument[]): string => {
  const lines = documents.flatMap((document, i) => {
    const { directives, prelude, marked, header, below } = document
    // What begins with an anchor or a tag of its own would be taken for that of its first key.
    const rootProps = document.root !== null && document.root.props !== ''
    const marker = marked || i > 0 || directives.length > 0 || rootProps ? ['---'] : []
    return [...prelude, ...directives, ...marker, ...header, ...rootLines(document), ...below]
  })
  return `${lines.join('\n').replace(/\n+$/, '')}\n`
}
