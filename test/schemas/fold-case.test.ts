/** Texts whose case does not count. */

import { expect, it } from 'vitest'
import { foldCase, foldedTo } from '#schemas/text/fold-case.ts'

/** No letter beyond these has a case. */
const beyondAscii = Array.from({ length: 0x1f000 - 0x80 }, (_, n) => n + 0x80).flatMap((code) =>
  code >= 0xd800 && code < 0xe000 ? [] : String.fromCodePoint(code),
)

it('are folded in each character alone, so that a part is folded as it is in the whole', () => {
  for (const text of ['ΠΑΠΑΔΟΠΟΥΛΟΣ', 'İPEK', 'GROẞ', 'Åse', 'K', '𐐀', 'ǅ', 'ÉMILE', 'Ab1'])
    expect(foldCase(text)).toBe([...text].map(foldCase).join(''))
  expect(foldCase('ΟΔΟΣΕΙΔΩΝ').startsWith(foldCase('ΟΔΟΣ'))).toBe(true)
  expect(['ΣΣ', 'σς', 'İ', 'GROẞ', 'Ada'].map(foldCase)).toEqual(['σσ', 'σσ', 'İ', 'groß', 'ada'])
})

it('have the characters that are folded to another one, all of them and no others', () => {
  const expected = Map.groupBy(
    beyondAscii.filter((one) => foldCase(one) !== one),
    foldCase,
  )
  for (const one of beyondAscii)
    if (expected.has(one) || foldedTo(one).length > 0)
      expect([...foldedTo(one)].sort(), one).toEqual([...(expected.get(one) ?? [])].sort())
})

it('stay what they are once they are folded', () => {
  for (const one of beyondAscii) if (foldCase(foldCase(one)) !== foldCase(one)) expect.fail(one)
})
