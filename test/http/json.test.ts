import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Problem } from '#schemas/problems.ts'
import { parseJson, parseJsonBytes } from '#server/http/json.ts'

const refusal = (text: string): Problem => {
  try {
    parseJson(text)
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('the text was accepted')
}

const byStandard = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const byUs = (text: string): unknown => {
  try {
    return { value: parseJson(text) }
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

/** Whether an object of it has this name, as a property of its own. */
const hasName = (value: unknown, name: string): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, name) || Object.values(value).some((part) => hasName(part, name)))

describe('reading JSON', () => {
  it('reads whatever can be written', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        expect(byUs(text)).toEqual(hasName(value, '__proto__') ? undefined : byStandard(text))
      }),
    )
  })

  it('takes as a value what it refuses as a name', () => {
    expect(parseJson('{"":["__proto__"]}')).toEqual({ '': ['__proto__'] })
  })

  it('agrees with the standard parser on what is no JSON', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '1',
      '-',
      '0',
      '.5',
      'e',
      'true',
      'null',
      ' ',
      '\n',
    ]
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...pieces, 'nul', '"', '\\', '\u0001', 'x')),
        (parts) => {
          const text = parts.join('')
          const twice = /stands twice/.test(byUs(text) === undefined ? refusal(text).message : '')
          expect(byUs(text)).toEqual(twice ? undefined : byStandard(text))
        },
      ),
      { numRuns: 2000 },
    )
  })

  it.each([
    ['', 1, 1, 'ends too early'],
    ['{', 1, 2, 'ends too early'],
    ['{"a":1,}', 1, 8, 'a name in quotes is expected'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, '"," or "}" is expected'],
    ['{"a" 1}', 1, 6, '":" is expected'],
    ['[1 2]', 1, 4, '"," or "]" is expected'],
    ['[01]', 1, 2, 'a value is expected'],
    ['[1.]', 1, 2, 'a value is expected'],
    ['[tru]', 1, 2, 'a value is expected'],
    ['"a\\x"', 1, 3, 'this escape does not exist'],
    ['"a\nb"', 1, 3, 'a control character'],
    ['"a', 1, 3, 'within a string'],
    ['1 2', 1, 3, 'the end of the text is expected'],
    ["{'a': 1}", 1, 2, 'a name in quotes is expected'],
  ])('tells the place of the fault in %j', (text, line, column, message) => {
    const problem = refusal(text)
    expect(problem.code).toBe('bad-request')
    expect(problem.message).toContain(`line ${line}, column ${column}: `)
    expect(problem.message).toContain(message)
    expect(problem.extra).toEqual({ line, column })
  })

  it.each(['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[{"x":{"a":1,"b":2,"a":3}}]'])(
    'refuses a name that stands twice in one object: %s',
    (text) => {
      expect(refusal(text).message).toContain('twice')
    },
  )

  it('takes the same name in different objects', () => {
    expect(parseJson('{"a":{"a":[{"a":1},{"a":2}]}}')).toEqual({ a: { a: [{ a: 1 }, { a: 2 }] } })
  })

  it.each(['{"__proto__":{}}', '{"a":[{"\\u005f_proto__":1}]}'])(
    'refuses a name that reaches the prototype: %s',
    (text) => {
      expect(refusal(text).message).toContain('__proto__')
    },
  )

  it('refuses nesting that would exhaust whoever walks it', () => {
    expect(byUs('['.repeat(64) + ']'.repeat(64))).toBeDefined()
    expect(refusal('['.repeat(65) + ']'.repeat(65)).message).toContain('levels deep')
    expect(refusal('[{"a":'.repeat(200_000)).message).toContain('levels deep')
  })

  it('does not repeat the text, which may be a secret', () => {
    expect(refusal('{"password": hunter2hunter2}').message).not.toContain('hunter2')
    expect(refusal('{"password": "hunter2hunter2').message).not.toContain('hunter2')
  })

  it('wants UTF-8, skips a byte order mark, and takes no bytes as no value', () => {
    expect(() => parseJsonBytes(Uint8Array.of(0x22, 0xff, 0x22))).toThrow('not UTF-8')
    expect(parseJsonBytes(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).toBe(1)
    expect(parseJsonBytes(new Uint8Array(0))).toBeUndefined()
  })
})
