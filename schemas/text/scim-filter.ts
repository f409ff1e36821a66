/**
 * SCIM filters (RFC 7644 §3.4.2.2), read in one pass into a tree. A filter is bounded in length, terms and depth before it costs
 * anything: readers that expand filters into a normal form need time that doubles with each term.
 */

const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof comparisons)[number]

/** `urn:…:User:name.familyName`: the schema where one is given, the attribute, and a part of it. */
export interface AttributePath {
  readonly schema: string | undefined
  readonly name: string
  readonly sub: string | undefined
}

export type Literal = string | number | boolean | null

export interface Compare {
  readonly op: Comparison
  readonly path: AttributePath
  readonly value: Literal
}

export type ScimFilter =
  | { readonly op: 'and' | 'or'; readonly terms: readonly ScimFilter[] }
  | { readonly op: 'not'; readonly term: ScimFilter }
  | { readonly op: 'pr'; readonly path: AttributePath }
  /** Some value of the list fulfils the filter, whose paths are those of the value. */
  | { readonly op: 'some'; readonly path: AttributePath; readonly filter: ScimFilter }
  | Compare

export const pathText = ({ schema, name, sub }: AttributePath): string =>
  `${schema === undefined ? '' : `${schema}:`}${name}${sub === undefined ? '' : `.${sub}`}`

const written = /^(?:(urn:[\w:.-]+):)?([A-Za-z$][\w$-]*)(?:\.([\w$-]+))?$/i

/** Undefined where the text is no attribute path (RFC 7644 §3.10). */
export const attributePath = (text: string): AttributePath | undefined => {
  const [, schema, name, sub] = written.exec(text) ?? []
  return name === undefined ? undefined : { schema, name, sub }
}

export const mostCharacters = 2000
const mostTerms = 20
const mostDepth = 5

/** The filter cannot be read; the message says where. */
export class ScimFilterError extends Error {
  override readonly name = 'ScimFilterError'
}

/** Makes the error that is thrown. */
type Refuse = (detail: string) => Error

const unreadable: Refuse = (detail) => new ScimFilterError(detail)

const token = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y

type Token =
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'word'; readonly text: string }

const tokensOf = (text: string, refuse: Refuse): Token[] => {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  token.lastIndex = 0
  for (let at = 0; at < end; at = token.lastIndex) {
    token.lastIndex = at
    const [all, mark, string, word] = token.exec(text) ?? []
    if (all === undefined) throw refuse(`character ${at + 1} begins nothing that is expected`)
    if (mark !== undefined) tokens.push({ kind: 'mark', text: mark })
    else if (string !== undefined) tokens.push({ kind: 'string', text: string })
    else tokens.push({ kind: 'word', text: word ?? '' })
  }
  return tokens
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

export const parseScimFilter = (text: string, refuse: Refuse = unreadable): ScimFilter => {
  if (text.length > mostCharacters)
    throw refuse(`the filter has more than ${mostCharacters} characters`)
  const tokens = tokensOf(text, refuse)
  let at = 0
  let terms = 0

  const isMark = (mark: string): boolean => tokens[at]?.kind === 'mark' && tokens[at]?.text === mark
  const isWord = (word: string): boolean =>
    tokens[at]?.kind === 'word' && tokens[at]?.text.toLowerCase() === word
  const take = (): Token => {
    const next = tokens[at]
    if (next === undefined) throw refuse('the filter ends too early')
    at += 1
    return next
  }
  const close = (mark: string): void => {
    if (!isMark(mark)) throw refuse(`"${mark}" is expected at part ${at + 1} of the filter`)
    at += 1
  }

  const path = (given: string): AttributePath => {
    const found = attributePath(given)
    if (!found) throw refuse(`"${given.slice(0, 80)}" is no attribute path`)
    return found
  }

  const literal = (): Literal => {
    const { kind, text: given } = take()
    if (kind === 'string') {
      try {
        return String(JSON.parse(given))
      } catch {
        throw refuse('a string in the filter has an invalid escape (RFC 8259 §7)')
      }
    }
    const word = given.toLowerCase()
    if (word === 'true' || word === 'false') return word === 'true'
    if (word === 'null') return null
    if (kind === 'word' && number.test(given)) return Number(given)
    throw refuse(`"${given.slice(0, 80)}" is no value: put texts in quotes`)
  }

  const comparison = (of: AttributePath): ScimFilter => {
    const { kind, text: given } = take()
    const op = given.toLowerCase()
    if (kind === 'word' && op === 'pr') return { op: 'pr', path: of }
    if (kind !== 'word' || !comparisons.includes(op as Comparison))
      throw refuse(`"${given.slice(0, 80)}" is no operator`)
    return { op: op as Comparison, path: of, value: literal() }
  }

  /** `emails[type eq "work"]`, and what Entra ID makes of it: `emails[type eq "work"].value eq "…"`. */
  const inBrackets = (list: AttributePath, depth: number): ScimFilter => {
    at += 1
    const inner = either(depth + 1)
    close(']')
    const next = tokens[at]
    if (next?.kind !== 'word' || !next.text.startsWith('.'))
      return { op: 'some', path: list, filter: inner }
    at += 1
    const outer = comparison(path(next.text.slice(1)))
    return { op: 'some', path: list, filter: { op: 'and', terms: [inner, outer] } }
  }

  const term = (depth: number): ScimFilter => {
    if (depth > mostDepth) throw refuse(`the filter is nested more than ${mostDepth} levels deep`)
    if (isWord('not')) {
      at += 1
      if (!isMark('(')) throw refuse('"(" is expected after "not"')
      return { op: 'not', term: term(depth) }
    }
    if (isMark('(')) {
      at += 1
      const inner = either(depth + 1)
      close(')')
      return inner
    }
    terms += 1
    if (terms > mostTerms) throw refuse(`the filter has more than ${mostTerms} terms`)
    const { kind, text: given } = take()
    if (kind !== 'word') throw refuse(`an attribute is expected at part ${at} of the filter`)
    const of = path(given)
    return isMark('[') ? inBrackets(of, depth) : comparison(of)
  }

  const joined = (
    op: 'and' | 'or',
    next: (depth: number) => ScimFilter,
    depth: number,
  ): ScimFilter => {
    const found = [next(depth)]
    while (isWord(op)) {
      at += 1
      found.push(next(depth))
    }
    return found.length === 1 && found[0] ? found[0] : { op, terms: found }
  }
  const both = (depth: number): ScimFilter => joined('and', term, depth)
  const either = (depth: number): ScimFilter => joined('or', both, depth)

  const filter = either(0)
  if (at < tokens.length)
    throw refuse(`"${tokens[at]?.text.slice(0, 80)}" is not expected in the filter`)
  return filter
}
