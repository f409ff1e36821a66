/**
 * One file in canonical form. It says the same as before, by the reader that every command uses, and holds every comment;
 * where that cannot be had, the file is left as it is.
 */

import { isDeepStrictEqual } from 'node:util'
import { parseAllDocuments } from 'yaml'
import type { Diagnostic } from '../diagnostics.ts'
import { readDocuments } from '../load/yaml/nodes.ts'
import { createSource, type Source } from '../load/yaml/source.ts'
import type { Node } from '../load/yaml/tree.ts'
import { attachComments, type Comment, commentsOf } from './comments.ts'
import { arrangeRealm } from './order.ts'
import { printDocuments } from './print.ts'
import { treeOf } from './read.ts'
import { type FileDocument, isCollection, Unformattable, type Value } from './tree.ts'

export type Formatted =
  | { readonly status: 'formatted'; readonly text: string; readonly changed: boolean }
  /** It is not YAML that a realm could be read from. */
  | { readonly status: 'invalid'; readonly diagnostics: readonly Diagnostic[] }
  | { readonly status: 'left'; readonly reason: string }

/** Lines that programs look for at the top of a file. */
const isModeline = (line: string): boolean => /^#\s*(?:yaml-language-server:|vim?:|-\*-)/.test(line)

/** The comments above the first entry that are about the file: up to an empty line, and lines for programs. */
const takeHeader = (root: Value | null): string[] => {
  const first = root && isCollection(root) ? root.entries[0] : undefined
  if (!first) return []
  const { leading } = first
  let end = leading.lastIndexOf('') + 1
  while (isModeline(leading[end] ?? '')) end += 1
  return leading.splice(0, end)
}

const linesOf = (comments: readonly Comment[]): string[] =>
  comments.flatMap(({ text, blankAbove }, i) => (blankAbove && i > 0 ? ['', text] : [text]))

const parse = (text: string, arrange: boolean): FileDocument[] => {
  const documents = parseAllDocuments(text, {
    keepSourceTokens: true,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  if (!Array.isArray(documents) || documents.length === 0) return []
  const comments = commentsOf(text)
  return documents.map((document, i) => {
    const [problem] = document.errors
    if (problem) throw new Unformattable(problem.message.split('\n')[0] ?? 'it cannot be read')
    const next = documents[i + 1]
    const marked = document.directives.docStart === true
    // Without `---` there is nothing that comments could stand before.
    const start = marked || i > 0 ? document.range[0] : 0
    const until = next ? next.range[0] : Number.POSITIVE_INFINITY
    const directives = text.slice(0, i === 0 ? start : 0).match(/^%.*$/gm) ?? []
    if (i > 0 && /^%/m.test(text.slice(documents[i - 1]?.range[1] ?? 0, start)))
      throw new Unformattable('a later document has directives')
    const root = document.contents === null ? null : treeOf({ text, document }, document.contents)
    const prelude = i === 0 ? comments.filter(({ offset }) => offset < start) : []
    const own = comments.filter(({ offset }) => offset >= start && offset < until)
    const { loose } = attachComments(text, root, own)
    const before = loose.filter(({ offset }) => root !== null && offset < root.start)
    const header = [...linesOf(before), ...takeHeader(root)]
    if (arrange && root) arrangeRealm(root)
    const below = loose.filter((comment) => !before.includes(comment))
    return { directives, prelude: linesOf(prelude), marked, header, root, below: linesOf(below) }
  })
}

/** Whether two trees say the same. What a variable fills has a type only without quotes. */
const isSame = (a: Node, b: Node): boolean => {
  if (a.type === 'scalar' && b.type === 'scalar')
    return a.value === b.value && (a.typed === b.typed || !String(a.text ?? a.value).includes('${'))
  if (a.type === 'list' && b.type === 'list')
    return (
      a.items.length === b.items.length &&
      a.items.every((item, i) => isSame(item, b.items[i] as Node))
    )
  if (a.type !== 'map' || b.type !== 'map' || a.pairs.size !== b.pairs.size) return false
  for (const [key, { value }] of a.pairs) {
    const other = b.pairs.get(key)
    if (other === undefined || !isSame(value, other.value)) return false
  }
  return true
}

const commentsIn = (text: string): string[] =>
  commentsOf(text)
    .map((comment) => comment.text)
    .sort()

const saysTheSame = (source: Source, text: string, formatted: string): boolean => {
  const before = readDocuments(source).documents
  const read = readDocuments(createSource(source.file, formatted))
  return (
    read.diagnostics.length === 0 &&
    before.length === read.documents.length &&
    before.every((document, i) => isSame(document, read.documents[i] as Node)) &&
    isDeepStrictEqual(commentsIn(text), commentsIn(formatted))
  )
}

export const format = (source: Source): Formatted => {
  const { diagnostics } = readDocuments(source)
  if (diagnostics.length > 0) return { status: 'invalid', diagnostics }
  const text = source.text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
  try {
    // An alias must not come before what it repeats: then the order stays, and only the style changes.
    for (const arrange of [true, false]) {
      const documents = parse(text, arrange)
      const formatted = documents.length === 0 ? text : printDocuments(documents)
      if (saysTheSame(source, text, formatted))
        return { status: 'formatted', text: formatted, changed: formatted !== source.text }
    }
  } catch (error) {
    if (!(error instanceof Unformattable)) throw error
    return { status: 'left', reason: error.message }
  }
  return { status: 'left', reason: 'it cannot be rewritten without a change' }
}
