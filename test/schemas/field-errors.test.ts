/** The errors of a value in words for a person. */

import { expect, it } from 'vitest'
import { createAjv, lazyValidator } from '#schemas/ajv.ts'

it('name null among the values of an enumeration that has it', () => {
  const check = lazyValidator(createAjv(), { enum: ['userId', null] })
  expect(check('other')).toEqual([
    { field: '/', code: 'enum', message: 'must be one of userId, null' },
  ])
})
