import { describe, expect, it } from 'vitest'
import { base32 } from '#server/platform/base32.ts'

describe('base32', () => {
  it.each([
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ])('writes the vector "%s" of RFC 4648 §10, without its padding', (text, expected) => {
    expect(base32(Buffer.from(text))).toBe(expected)
  })
})
