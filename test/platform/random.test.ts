import { describe, expect, it } from 'vitest'
import { constantTimeEqual, randomBytes, randomToken, sha256 } from '#server/platform/random.ts'

describe('random values', () => {
  it('have 256 bits unless asked otherwise, and are safe in a URL', () => {
    expect(randomToken()).toMatch(/^[\w-]{43}$/)
    expect(randomToken(16)).toMatch(/^[\w-]{22}$/)
  })

  it('do not repeat', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => randomToken(16))).size).toBe(1_000)
  })

  it.each([1, 12, 4_096, 5_000])('of %i bytes are the own of whoever asked', (length) => {
    const first = randomBytes(length)
    const copy = Buffer.from(first)
    expect(first).toHaveLength(length)
    for (let drawn = 0; drawn <= 4_096; drawn += length) randomBytes(length)
    expect(first).toEqual(copy)
  })

  it('have every value in every byte', () => {
    const seen = new Set<number>()
    for (let n = 0; n < 100; n += 1) for (const byte of randomBytes(100)) seen.add(byte)
    expect(seen.size).toBe(256)
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
