/** Syntax errors of the YAML parser, rephrased with a hint. */

import type { Diagnostic } from '../../diagnostics.ts'
import type { Source } from './source.ts'

interface Explained {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  /** Where it was caused, when that is not where the parser stopped. */
  readonly at?: number
}

interface Stop {
  readonly text: string
  /** Where the parser stopped. */
  readonly at: number
  readonly reason: string
}

const lineAround = (text: string, at: number): { start: number; line: string } => {
  const start = Math.max(text.lastIndexOf('\n', at - 1), text.lastIndexOf('\r', at - 1)) + 1
  const end = text.slice(start).search(/[\r\n]|$/)
  return { start, line: text.slice(start, start + end) }
}

/** A tab in the indentation of the line where the parser stopped. */
const tabAt = ({ text, at }: Stop): number | undefined => {
  const { start, line } = lineAround(text, at)
  const tab = /^[ \t]*/.exec(line)?.[0].indexOf('\t') ?? -1
  return tab === -1 ? undefined : start + tab
}

const isClosed = (quoted: string): boolean => quoted.length > 1 && quoted.at(-1) === quoted[0]

/**
 * The quote or bracket that is still open at an offset. A rough reading that knows comments, quotes and block text;
 * it only decides which line a person is sent to.
 */
const stillOpen = (text: string, until: number): number | undefined => {
  const open: number[] = []
  let at = 0
  const token =
    /(?<=^|[\s,[{])#[^\r\n]*|"(?:\\[\s\S]|[^"\\])*"?|'(?:''|[^'])*'?|[[{]|[\]}]|(?<=[:-] )[|>][-+\d]*[ \t]*(?:#[^\r\n]*)?(?=[\r\n])|[^\s"'#[\]{},]+/gmy
  while (at < until) {
    token.lastIndex = at
    const found = token.exec(text)?.[0]
    if (found === undefined) {
      at += 1
      continue
    }
    const first = found.charAt(0)
    const end = at + found.length
    if ((first === '"' || first === "'") && (end > until || !isClosed(found))) return at
    if (/^[|>]/.test(found) && open.length === 0) {
      const { line } = lineAround(text, at)
      const indent = /^[ ]*/.exec(line)?.[0].length ?? 0
      const body = new RegExp(
        `(?:[\\r\\n]+ {${indent + 1},}[^\\r\\n]*|[\\r\\n]+[ \\t]*(?=[\\r\\n]))*`,
        'y',
      )
      body.lastIndex = end
      at = end + (body.exec(text)?.[0].length ?? 0)
      continue
    }
    if (first === '[' || first === '{') open.push(at)
    if (first === ']' || first === '}') open.pop()
    // What follows a word without a space is part of it: it's, b[1].
    at = /^[^\s"'#[\]{},|>]/.test(found)
      ? end + (/^["'[{][^\s]*/.exec(text.slice(end, end + 200))?.[0].length ?? 0)
      : end
  }
  return open.at(-1)
}

const unclosed = (stop: Stop): Explained => {
  const at = stillOpen(stop.text, stop.at)
  const sign = at === undefined ? undefined : stop.text[at]
  return {
    message:
      sign === undefined ? 'a quote or bracket is never closed' : `this ${sign} is never closed`,
    hint: 'close it, or indent its content',
    ...(at === undefined ? {} : { at }),
  }
}

const misplaced = ({ text, at }: Stop): Explained => {
  const sign = text[at] ?? ''
  const { start, line } = lineAround(text, at)
  const before = line.slice(0, at - start).trimEnd()
  if ('@`%'.includes(sign) && /(?:^|[:-])$/.test(before))
    return { message: `a value cannot begin with "${sign}"`, hint: 'put it in quotes' }
  if (']}'.includes(sign)) return { message: `this ${sign} closes nothing` }
  if (/["']$/.test(before))
    return {
      message: 'there is text after the closing quote',
      hint: 'inside of \'…\' a quote is written twice, inside of "…" as \\"',
    }
  if (sign === ':')
    return {
      message: 'a ":" followed by a space cannot be part of a value without quotes',
      hint: 'put the value in quotes, or indent the line like its neighbours',
    }
  return {
    message: 'this line is not indented like its neighbours',
    hint: 'entries of one map begin in the same column',
  }
}

const stranger = ({ text, at }: Stop): Explained => {
  if (/[\]}]/.test(text[at] ?? '')) return { message: `this ${text[at]} closes nothing` }
  const { start, line } = lineAround(text, at)
  const { start: startAbove, line: above } = lineAround(text, Math.max(0, start - 1))
  const colon = /^\s*(?:- )?\s*[\w$-]+(?=:[^\s/])/.exec(above)
  if (colon !== null)
    return {
      message: 'this is no key with a value',
      hint: 'write a space after the colon',
      at: startAbove + colon[0].length,
    }
  if (/^[^:#]+$/.test(above.trim()) && /^[^-].*:(?:\s|$)/.test(line.trim()))
    return {
      message: 'a key follows something that is not an entry "key: value"',
      hint: 'items of a list begin with "- ", entries of a map with "key:"',
      at: start + line.search(/\S|$/),
    }
  return {
    message: 'this line does not belong to the block above',
    hint: 'a document is one map; a second document begins with a line "---"',
  }
}

type Explain = (stop: Stop) => Explained

const says =
  (message: string, hint?: string): Explain =>
  () => ({ message, ...(hint === undefined ? {} : { hint }) })

/** By what the parser says; the first that fits counts. */
const explanations: readonly (readonly [RegExp, Explain])[] = [
  [/deficient indentation|within a (single|double) quoted|within a flow/, unclosed],
  [
    /missed comma/,
    says('a comma is missing between two items', 'or a bracket above is not closed'),
  ],
  [/expected the node content/, says('there is nothing between two commas', 'take one out')],
  [/bad indentation of a mapping/, misplaced],
  [
    /bad indentation of a sequence/,
    says(
      'this line is not indented like its neighbours',
      'put the "-" of all items of a list in the same column',
    ),
  ],
  [/document separator is expected/, stranger],
  [
    /null byte|non-printable|valid JSON character/,
    says(
      'this character is not allowed: it cannot be printed',
      'write it as \\xNN or \\uNNNN inside of "…", or remove it',
    ),
  ],
  [
    /unknown escape|hexadecimal/,
    says(
      '"\\" begins an escape sequence, and this one is unknown',
      "write \\\\ for a backslash, or use '…', where it means itself",
    ),
  ],
  [
    /line break is expected/,
    says('no text may follow | or > on the same line', 'the text begins on the next line'),
  ],
  [
    /chomping|indentation width/,
    says('after | or > only one of "+" and "-" and one digit may follow'),
  ],
  [/maxDepth/, says('this is nested too deeply')],
  [
    /':' after a mapping key|multiline key|whitespace character is expected/,
    says('this key has no value', 'write "key: value" on one line'),
  ],
  [
    /anchor|alias/,
    says(
      'this & or * does not name anything as it should',
      'put text that begins with & or * in quotes',
    ),
  ],
  [/tag/i, says('this ! is not a tag', 'put text that begins with "!" in quotes')],
  [
    /directive/i,
    says(
      'a line that begins with "%" is a directive, and this one is unknown',
      'put text that begins with "%" in quotes',
    ),
  ],
  [/YAML version/, says('this version of YAML is not known', 'take the line out')],
]

export const syntaxError = (
  source: Source,
  { reason, at: stopped }: { readonly reason: string; readonly at: number },
): Diagnostic => {
  const stop = { text: source.text, at: stopped, reason }
  const tab = tabAt(stop)
  const explained: Explained =
    tab !== undefined
      ? {
          code: 'yaml-tab',
          message: 'this line is indented with a tab',
          hint: 'use spaces',
          at: tab,
        }
      : (explanations.find(([pattern]) => pattern.test(reason))?.[1](stop) ?? {
          message: `this is not YAML: ${reason}`,
        })
  const { code = 'yaml-syntax', message, hint, at = stop.at } = explained
  return {
    severity: 'error',
    code,
    message,
    place: source.placeAt(at),
    ...(hint === undefined ? {} : { hint }),
  }
}
