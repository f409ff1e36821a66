import { describe, expect, it } from 'vitest'
import { constantTimeEqual, randomToken, sha256 } from '#server/platform/random.ts'

describe('random values', () => {
  it('have 256 bits unless asked otherwise, and are safe in a URL', () => {
    expect(randomToken()).toMatch(/^[\w-]{43}$/)
    expect(randomToken(16)).toMatch(/^[\w-]{22}$/)
  })

  it('do not repeat', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => randomToken(16))).size).toBe(1_000)
  })

  it('are digested by SHA-256, texts as UTF-8', () => {
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    expect(sha256('abc')).toBe(abc)
    expect(sha256(new TextEncoder().encode('abc'))).toBe(abc)
    expect(sha256('é')).toBe(sha256(Uint8Array.of(0xc3, 0xa9)))
  })

  it.each([
    ['secret', 'secret', true],
    ['secret', 'secreT', false],
    ['secret', 'secret-longer', false],
    ['', 'secret', false],
    ['', '', true],
    ['é', 'e\u0301', false],
  ])('compare %j with %j as %s, whatever their lengths', (a, b, expected) => {
    expect(constantTimeEqual(a, b)).toBe(expected)
  })
})
