/** Tables: aligned, never broken at a terminal, never cut in a pipe, and harmless. */
import { describe, expect, it } from 'vitest'
import { tableLines, widthOf } from '#cli/views/human/elements/table.ts'
import { harmless, harmlessLines } from '#cli/views/human/elements/text.ts'

const headings = ['name', 'what', 'where']
const rows = [
  ['web', 'a rather long description of it', 'https://shop.example/callback'],
  ['日本', 'short', ''],
]

describe('a table', () => {
  it('is aligned, also with characters that take two places', () => {
    expect(tableLines(headings, rows, { width: null })).toEqual([
      'name  what                             where',
      'web   a rather long description of it  https://shop.example/callback',
      '日本  short',
    ])
  })

  it.each([70, 60, 50, 40, 30, 20, 10, 5])('fits into %i columns', (width) => {
    const lines = tableLines(headings, rows, { width })
    expect(lines).toHaveLength(3)
    if (width >= 10) for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
  })

  it('cuts the widest column first, with a mark', () => {
    const [, line] = tableLines(headings, rows, { width: 50 })
    expect(line).toMatch(/^web {3}a rather .*… {2}https:\/\/shop.*…$/)
  })

  it('leaves the last columns out where nothing else helps', () => {
    expect(tableLines(headings, rows, { width: 15 })).toEqual([
      'name  what',
      'web   a rather…',
      '日本  short',
    ])
  })

  it('of a hundred thousand rows is made', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => [`user-${i}`, 'x'])
    expect(tableLines(['user', 'x'], many, { width: 80 })).toHaveLength(100_001)
  })
})

describe('text from elsewhere', () => {
  it('shows control characters and marks of direction by their numbers', () => {
    expect(harmless('a\u001b[31mb\nc\u009b\u202e\u0007')).toBe(
      'a\\u001b[31mb\\nc\\u009b\\u202e\\u0007',
    )
    expect(harmlessLines('a\nb\tc')).toBe('a\nb\\u0009c')
    expect(harmless('grüße, 日本, 👩‍💻')).toBe('grüße, 日本, 👩‍💻')
  })
})
