/** Section `passwords`: the source of breached passwords. */

import Type from 'typebox'
import { defineSection, onlyOne } from './section.ts'

export const passwords = defineSection({
  doc: 'Where passwords known from breaches are looked up; without any, in the list that comes with the package.',
  prefix: 'breach',
  options: {
    file: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Corpus in the format of "Pwned Passwords", sorted by hash.',
      }),
    ),
    url: Type.Optional(
      Type.String({
        format: 'web-url',
        description: 'Range API that receives the first 5 digits of a hash (k-anonymity).',
      }),
    ),
  },
  check: (values) => onlyOne(values, ['file', 'url']),
})
