/** Lists without repetition: what counts as one, and that the check is linear (CWE-407). */

import { describe, expect, it } from 'vitest'
import { createAjv } from '#schemas/ajv.ts'

const validate = createAjv().compile({ type: 'array', uniqueItems: true })

describe('uniqueItems', () => {
  it.each([
    [
      ['a', 'b', 'a'],
      [0, 2],
    ],
    [
      [1, 1],
      [0, 1],
    ],
    [
      [null, null],
      [0, 1],
    ],
    [
      [[1], [1]],
      [0, 1],
    ],
    [
      [
        { a: [{ x: 1, y: 2 }], b: 3 },
        { b: 3, a: [{ y: 2, x: 1 }] },
      ],
      [0, 1],
    ],
  ])('finds the repetition in %j', (list, [i, j]) => {
    expect(validate(list)).toBe(false)
    expect(validate.errors).toMatchObject([{ keyword: 'uniqueItems', params: { i, j } }])
  })

  it.each([
    [[]],
    [[1, '1', true, 'true', null, 'null']],
    [[[1, 2], [2, 1], '[1,2]']],
    [[{ a: 1 }, { a: 2 }, { b: 1 }, '{"a":1}']],
    [['__proto__', 'constructor']],
  ])('finds none in %j', (list) => expect(validate(list)).toBe(true))

  it('reads each object a few times, however long the list is', () => {
    let reads = 0
    const object = (name: number) => ({
      get name() {
        reads += 1
        return name
      },
    })
    expect(validate(Array.from({ length: 1000 }, (_, i) => object(i)))).toBe(true)
    expect(reads).toBeLessThan(10_000)
  })
})
