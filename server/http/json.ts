/**
 * Reads a JSON body (RFC 8259) more strictly than `JSON.parse`: a name may stand only once in an object
 * (two readers would disagree on which one counts), `__proto__` is no name, nesting is bounded, and every
 * refusal tells line and column, never the text around them, which may be a secret.
 */

import { Problem } from '#schemas/problems.ts'

const MAX_DEPTH = 64

class Fault extends Error {
  readonly offset: number
  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y
const escaped = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y
const blank = /[ \t\n\r]*/y

const matchEnd = (pattern: RegExp, text: string, offset: number): number => {
  pattern.lastIndex = offset
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** The offset after the string that begins at `start`. */
const stringEnd = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) return at + 1
    if (unit < 0x20) throw new Fault(at, 'a control character in a string is not escaped')
    if (unit !== 0x5c) continue
    const end = matchEnd(escaped, text, at + 1)
    if (end === -1) throw new Fault(at, 'this escape does not exist')
    at = end - 1
  }
  throw new Fault(text.length, 'the text ends within a string')
}

/** The offset after the name at `start`, which must be new in `names`. */
const nameEnd = (text: string, start: number, names: Set<string>): number => {
  if (text[start] !== '"') throw unexpected(text, start, 'a name in quotes')
  const end = stringEnd(text, start)
  const written = text.slice(start + 1, end - 1)
  const name = written.includes('\\') ? String(JSON.parse(`"${written}"`)) : written
  if (name === '__proto__') throw new Fault(start, '"__proto__" is not allowed as a name')
  if (names.has(name)) throw new Fault(start, 'the object has this name twice')
  names.add(name)
  return end
}

const unexpected = (text: string, offset: number, wanted: string): Fault =>
  new Fault(offset, offset >= text.length ? 'the text ends too early' : `${wanted} is expected`)

/** Walks the tokens with a stack of the open objects (their names) and arrays (null). */
const check = (text: string): void => {
  const open: (Set<string> | null)[] = []
  // Most tokens have no blank before them.
  const skip = (offset: number): number =>
    text.charCodeAt(offset) > 0x20 ? offset : matchEnd(blank, text, offset)
  const expect = (offset: number, char: string): number => {
    if (text[offset] !== char) throw unexpected(text, offset, `"${char}"`)
    return skip(offset + 1)
  }
  /** Past the name and its colon when the innermost thing is an object. */
  const toValue = (offset: number): number => {
    const names = open.at(-1)
    return names ? expect(skip(nameEnd(text, offset, names)), ':') : offset
  }

  let at = skip(0)
  for (;;) {
    const first = text[at]
    if (first === '{' || first === '[') {
      if (open.length === MAX_DEPTH)
        throw new Fault(at, `it is nested more than ${MAX_DEPTH} levels deep`)
      const inside = skip(at + 1)
      if (text[inside] !== (first === '{' ? '}' : ']')) {
        open.push(first === '{' ? new Set() : null)
        at = toValue(inside)
        continue
      }
      at = inside + 1
    } else {
      const end = first === '"' ? stringEnd(text, at) : matchEnd(scalar, text, at)
      if (end === -1) throw unexpected(text, at, 'a value')
      at = end
    }
    // A value has ended: close what ends here, go on to the next member, or be done.
    for (at = skip(at); open.length > 0; at = skip(at + 1)) {
      if (text[at] === ',') break
      const closing = open.at(-1) === null ? ']' : '}'
      if (text[at] !== closing) throw unexpected(text, at, `"," or "${closing}"`)
      open.pop()
    }
    if (open.length === 0) break
    at = toValue(skip(at + 1))
  }
  if (at < text.length) throw new Fault(at, 'the end of the text is expected')
}

const place = (text: string, offset: number): { line: number; column: number } => {
  let line = 1
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1 && end < offset; end = text.indexOf('\n', start)) {
    line += 1
    start = end + 1
  }
  return { line, column: offset - start + 1 }
}

export const parseJson = (text: string): unknown => {
  try {
    check(text)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const { line, column } = place(text, error.offset)
    const detail = `The body is not acceptable JSON: line ${line}, column ${column}: ${error.message}.`
    throw new Problem('bad-request', detail, { extra: { line, column } })
  }
  return JSON.parse(text)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** JSON on the wire is UTF-8 (RFC 8259 §8.1); a byte order mark is skipped. No bytes are no value. */
export const parseJsonBytes = (bytes: Uint8Array): unknown => {
  if (bytes.length === 0) return undefined
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new Problem('bad-request', 'The body is not UTF-8.')
  }
  return parseJson(text)
}
