/** The formatter on generated files: whatever their style, they say the same afterwards, and are formatted for good. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commentsOf } from '#cli/fmt/comments.ts'
import { format } from '#cli/fmt/format.ts'
import { readDocuments } from '#cli/load/yaml/nodes.ts'
import { createSource } from '#cli/load/yaml/source.ts'
import { toJson } from '#cli/load/yaml/tree.ts'
import { isLong } from '../../support/run/chance.ts'
import { realmFile } from './generated.ts'

const read = (text: string) => {
  const { documents, diagnostics } = readDocuments(createSource('a.yaml', text))
  return { values: documents.map(toJson), diagnostics }
}

const runs = isLong ? 10_000 : 300

describe('generated files', () => {
  it('keep their values and comments, and are never formatted twice', {
    timeout: isLong ? 600_000 : 60_000,
  }, () => {
    let formattable = 0
    fc.assert(
      fc.property(realmFile, (text) => {
        const before = read(text)
        expect(before.diagnostics, text).toEqual([])
        const result = format(createSource('a.yaml', text))
        if (result.status !== 'formatted') {
          expect(result, text).toMatchObject({ status: 'left' })
          return
        }
        formattable += 1
        expect(read(result.text).values).toEqual(before.values)
        expect(
          commentsOf(result.text)
            .map((one) => one.text)
            .sort(),
        ).toEqual(
          commentsOf(text)
            .map((one) => one.text)
            .sort(),
        )
        const again = format(createSource('a.yaml', result.text))
        expect(again, `${text}\n=====\n${result.text}`).toMatchObject({ changed: false })
      }),
      { numRuns: runs },
    )
    expect(formattable / runs).toBeGreaterThan(0.95)
  })
})
