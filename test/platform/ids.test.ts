import { describe, expect, it } from 'vitest'
import { createIdSource, isUuid, newId } from '#server/platform/ids.ts'

describe('ids', () => {
  it('are UUIDs of version 7 and the RFC variant (RFC 9562 §5.7)', () => {
    expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('carry the time of creation in their first 48 bits', () => {
    const next = createIdSource({ now: () => 0x0123456789ab })
    expect(next().slice(0, 13)).toBe('01234567-89ab')
  })

  it('grow within a process, also within one millisecond', () => {
    const ids = Array.from({ length: 20_000 }, newId)
    expect(ids).toEqual([...ids].sort())
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('grow when the clock stands still for longer than the counter lasts', () => {
    const next = createIdSource({ now: () => 1_700_000_000_000 })
    const ids = Array.from({ length: 10_000 }, next)
    expect(ids).toEqual([...ids].sort())
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('grow when the clock steps back', () => {
    const times = [2_000, 2_001, 1_000, 1_500, 2_001, 2_002]
    const next = createIdSource({ now: () => times.shift() ?? 0 })
    const ids = Array.from({ length: 6 }, next)
    expect(ids).toEqual([...ids].sort())
  })

  it.each([
    ['0190b1c2-aaaa-7bbb-8ccc-123456789abc', true],
    ['0190B1C2-AAAA-4BBB-8CCC-123456789ABC', true],
    ['0190b1c2aaaa7bbb8ccc123456789abc', false],
    ['0190b1c2-aaaa-7bbb-8ccc-123456789abc\n', false],
    ['{0190b1c2-aaaa-7bbb-8ccc-123456789abc}', false],
    ['', false],
  ])('takes %j for a UUID: %s', (text, expected) => {
    expect(isUuid(text)).toBe(expected)
  })
})
