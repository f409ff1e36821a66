/** Forms and queries are read as the URL standard reads them, and stricter only where OAuth is. */
import { describe, expect, it } from 'vitest'
import { parseParameters } from '#server/oidc/parameters.ts'

describe('parameters', () => {
  it.each([
    'a=b&c=d',
    '',
    '&&a=b&&',
    'a',
    'a=',
    '=b',
    'a=b=c',
    'a+b=c+d',
    'a%2Bb=c%26d%3De',
    'a=%E2%82%AC%20%F0%9F%92%A1',
    'a=%',
    'a=%zz+%41',
    'a=%ff%41',
    'a=%e2%82',
    '%zz=b',
    'a=€+💡',
    'a=%00',
  ])('are those of the URL standard: %s', (text) => {
    const read = parseParameters(text)
    const expected = new URLSearchParams(text)
    expect([...read.names()]).toEqual([...expected.keys()])
    for (const [name, value] of expected) expect(read.get(name) ?? '').toBe(value)
  })

  it('may stand once', () => {
    expect(() => parseParameters('a=1&a=2')).toThrow('is given more than once')
    expect(() => parseParameters('a=1&%61=2')).toThrow('is given more than once')
  })

  it('may not be too many', () => {
    const many = Array.from({ length: 201 }, (_, n) => `p${n}=1`).join('&')
    expect(() => parseParameters(many)).toThrow('too many parameters')
  })
})
