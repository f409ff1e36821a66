/**
 * SCIM filters (RFC 7644 §3.4.2.2) that are asked of a resource in memory: read with a bound on length, terms and depth, so that
 * no filter costs more than its text. Attribute names and strings compare without case (RFC 7643 §2.1, §2.2).
 */

const operators = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const

type Operator = (typeof operators)[number]
type Literal = string | number | boolean | null

export type ScimFilter =
  | { readonly op: 'and'; readonly of: readonly ScimFilter[] }
  | { readonly op: 'or'; readonly of: readonly ScimFilter[] }
  | { readonly op: 'not'; readonly of: ScimFilter }
  | { readonly op: 'pr'; readonly path: string }
  | { readonly op: Operator; readonly path: string; readonly value: Literal }
  /** Elements of a list that one condition holds for, such as `emails[type eq "work"]`. */
  | { readonly op: 'any'; readonly path: string; readonly of: ScimFilter }

const longest = 2000
const mostTerms = 20
const deepest = 5

/** The filter cannot be read; the message says where. */
export class ScimFilterError extends Error {
  override readonly name = 'ScimFilterError'
}

const token = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/y

const tokensOf = (text: string): string[] => {
  const tokens: string[] = []
  token.lastIndex = 0
  const end = text.trimEnd().length
  while (token.lastIndex < end) {
    const at = token.lastIndex
    const found = token.exec(text)
    if (!found) throw new ScimFilterError(`nothing can be read at character ${at + 1}`)
    tokens.push(found[1] ?? found[2] ?? found[3] ?? '')
  }
  return tokens
}

const isPath = (word: string): boolean =>
  /^(urn:[\w.:-]+:)?[A-Za-z$][\w$-]*(\.[\w$-]+)?$/.test(word)

const literalOf = (word: string | undefined): Literal => {
  try {
    const value: unknown = JSON.parse(word ?? '')
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value))
      return value as Literal
  } catch {
    // Said below.
  }
  throw new ScimFilterError(
    word === undefined
      ? 'it ends where a value is expected'
      : `${word} is no value: a string needs quotation marks`,
  )
}

export const parseScimFilter = (text: string): ScimFilter => {
  if (text.length > longest) throw new ScimFilterError(`it is longer than ${longest} characters`)
  const tokens = tokensOf(text)
  let at = 0
  let terms = 0
  const isNext = (word: string): boolean => tokens[at]?.toLowerCase() === word
  const skip = (word: string): void => {
    if (!isNext(word))
      throw new ScimFilterError(`"${word}" is expected, not ${tokens[at] ?? 'the end'}`)
    at += 1
  }

  const joined = (
    op: 'and' | 'or',
    depth: number,
    part: (depth: number) => ScimFilter,
  ): ScimFilter => {
    const of = [part(depth)]
    while (isNext(op)) {
      at += 1
      of.push(part(depth))
    }
    const [only, ...others] = of
    return only && others.length === 0 ? only : { op, of }
  }
  const whole = (depth: number): ScimFilter =>
    joined('or', depth, () => joined('and', depth, factor))

  const inBrackets = (depth: number, close: ')' | ']'): ScimFilter => {
    at += 1
    if (depth >= deepest) throw new ScimFilterError(`it is nested deeper than ${deepest} levels`)
    const inner = whole(depth + 1)
    skip(close)
    return inner
  }

  const factor = (depth: number): ScimFilter => {
    if (isNext('not')) {
      at += 1
      if (!isNext('(')) skip('(')
      return { op: 'not', of: inBrackets(depth, ')') }
    }
    return isNext('(') ? inBrackets(depth, ')') : term(depth)
  }

  const term = (depth: number): ScimFilter => {
    terms += 1
    if (terms > mostTerms) throw new ScimFilterError(`it has more than ${mostTerms} conditions`)
    const path = tokens[at] ?? ''
    if (!isPath(path))
      throw new ScimFilterError(
        path === '' ? 'it ends where an attribute is expected' : `${path} is no attribute`,
      )
    at += 1
    if (isNext('[')) return { op: 'any', path, of: inBrackets(depth, ']') }
    const word = tokens[at]?.toLowerCase()
    at += 1
    if (word === 'pr') return { op: 'pr', path }
    const op = operators.find((one) => one === word)
    if (op === undefined)
      throw new ScimFilterError(
        `${word ?? 'the end'} after ${path} is no operator: ${operators.join(', ')} or pr`,
      )
    const value = literalOf(tokens[at])
    at += 1
    return { op, path, value }
  }

  const filter = whole(0)
  if (at < tokens.length) throw new ScimFilterError(`${tokens[at]} stands after its end`)
  return filter
}

type Values = readonly unknown[]

const memberOf = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Object.entries(value).find(([key]) => key.toLowerCase() === name.toLowerCase())
  return found?.[1]
}

const flat = (value: unknown): Values =>
  value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]

/** The values of an attribute, of every element of lists on the way. */
const valuesAt = (resource: unknown, path: string): Values => {
  const cut = /^(urn:.+):([^:]+)$/.exec(path)
  const start = cut ? memberOf(resource, cut[1] ?? '') : resource
  return (cut?.[2] ?? path)
    .split('.')
    .reduce<Values>(
      (values, name) => values.flatMap((value) => flat(memberOf(value, name))),
      [start],
    )
}

/** What a list of complex values is compared by: `groups eq "x"` means its value or what it is shown as. */
const comparable = (value: unknown): Values =>
  typeof value === 'object' && value !== null
    ? [memberOf(value, 'value'), memberOf(value, 'display')].filter((one) => one !== undefined)
    : [value]

const ordered = (op: Operator, a: string | number, b: string | number): boolean =>
  op === 'gt' ? a > b : op === 'ge' ? a >= b : op === 'lt' ? a < b : op === 'le' && a <= b

const holds = (op: Operator, actual: unknown, wanted: Literal): boolean => {
  if (typeof actual === 'string' && typeof wanted === 'string') {
    const [a, b] = [actual.toLowerCase(), wanted.toLowerCase()]
    if (op === 'eq') return a === b
    if (op === 'co') return a.includes(b)
    if (op === 'sw') return a.startsWith(b)
    if (op === 'ew') return a.endsWith(b)
    return ordered(op, a, b)
  }
  if (op === 'eq') return actual === wanted
  return typeof actual === 'number' && typeof wanted === 'number' && ordered(op, actual, wanted)
}

export const matchesScimFilter = (filter: ScimFilter, resource: unknown): boolean => {
  if (filter.op === 'and') return filter.of.every((one) => matchesScimFilter(one, resource))
  if (filter.op === 'or') return filter.of.some((one) => matchesScimFilter(one, resource))
  if (filter.op === 'not') return !matchesScimFilter(filter.of, resource)
  const values = valuesAt(resource, filter.path)
  if (filter.op === 'any') return values.some((value) => matchesScimFilter(filter.of, value))
  const all = values.flatMap(comparable)
  if (filter.op === 'pr') return all.some((value) => value !== '')
  const { op, value: wanted } = filter
  if (wanted === null) return op === 'eq' ? all.length === 0 : op === 'ne' && all.length > 0
  if (op === 'ne') return !all.some((value) => holds('eq', value, wanted))
  return all.some((value) => holds(op, value, wanted))
}

/** The attributes that it asks for, in lower case. */
export const attributesOfScimFilter = (filter: ScimFilter): ReadonlySet<string> => {
  if (filter.op === 'and' || filter.op === 'or')
    return new Set(filter.of.flatMap((one) => [...attributesOfScimFilter(one)]))
  if (filter.op === 'not') return attributesOfScimFilter(filter.of)
  return new Set([filter.path.split('.')[0]?.toLowerCase() ?? ''])
}
