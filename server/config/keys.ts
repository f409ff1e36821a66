/** Section `keys`: the master key. */

import Type from 'typebox'
import { defineSection, onlyOne, secretText } from './section.ts'

export const keys = defineSection({
  doc: 'The master key, which seals the secrets in the database.',
  prefix: 'master',
  options: {
    key: secretText(
      '32 bytes as base64 or hex; several, separated by commas, while keys are rotated.',
    ),
    keyFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'File that holds it, readable by its owner only. Default: <data>/master.key.',
      }),
    ),
  },
  check: (values) => onlyOne(values, ['key', 'keyFile']),
})
