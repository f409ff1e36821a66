/** Concurrent changes, as shown from the details of a refusal. */
import { describe, expect, it } from 'vitest'
import { movedLines } from '#cli/views/human/moved.ts'

const change = (revision: number, documents = 1) => ({
  revision,
  at: Date.UTC(2026, 0, 31, 8),
  actor: '0198c0de-0000-7000-8000-000000000000',
  actorName: 'alice',
  source: 'rest',
  message: null,
  changes: Array.from({ length: documents }, (_, i) => ({
    op: 'update',
    kind: 'client',
    key: `c${i}`,
  })),
})

describe('what moved', () => {
  it('names revision, time, person, door and documents', () => {
    expect(movedLines({ moved: [{ ...change(7), message: 'by hand' }] })).toEqual([
      'revision 7, 2026-01-31T08:00:00Z, by alice through rest "by hand": update client c0',
    ])
  })

  it('is cut where it is long, and says so', () => {
    const lines = movedLines({ moved: Array.from({ length: 12 }, (_, i) => change(i, 7)) })
    expect(lines).toHaveLength(11)
    expect(lines[0]).toMatch(/update client c4, and 2 more documents$/)
    expect(lines.at(-1)).toBe('and 2 more revisions')
  })

  it('is nothing where the server tells nothing, or something else', () => {
    expect(movedLines({})).toEqual([])
    expect(movedLines({ moved: 'yes' })).toEqual([])
    expect(movedLines({ moved: [1, null] })).toEqual([])
  })
})
