/** Statements that come back are planned once by PostgreSQL; those that do not are not kept by it. */

import { describe, expect, it } from 'vitest'
import { StatementNames } from '#server/storage/postgres/statement-names.ts'

const often = (names: StatementNames, sql: string): (string | undefined)[] =>
  Array.from({ length: 4 }, () => names.nameOf(sql))

describe('the names of statements', () => {
  it('are given at the third use, one for each text', () => {
    const names = new StatementNames()
    expect(often(names, 'insert 1')).toEqual([undefined, undefined, 'write-1', 'write-1'])
    expect(often(names, 'insert 2')).toEqual([undefined, undefined, 'write-2', 'write-2'])
    expect(names.nameOf('insert 1')).toBe('write-1')
  })

  it('are bounded, and texts that never return take none away', () => {
    const names = new StatementNames()
    for (let n = 0; n < 5_000; n += 1) expect(names.nameOf(`once ${n}`)).toBeUndefined()
    for (let n = 1; n <= 200; n += 1) expect(often(names, `text ${n}`)[3]).toBe(`write-${n}`)
    expect(often(names, 'one more')).toEqual([undefined, undefined, undefined, undefined])
    expect(names.nameOf('text 200')).toBe('write-200')
  })
})
