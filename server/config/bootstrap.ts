/** Section `bootstrap`: the first administrator. */

import Type from 'typebox'
import { defineSection, onlyOne, secretText } from './section.ts'

export const bootstrap = defineSection({
  doc: 'The first administrator, made once when the database is empty.',
  prefix: 'bootstrapAdmin',
  options: {
    username: Type.String({
      default: 'admin',
      format: 'username',
      minLength: 1,
      maxLength: 255,
      description: 'Name to sign in with.',
    }),
    password: secretText('Password; without any, a random one is made and printed once.'),
    passwordFile: Type.Optional(
      Type.String({ minLength: 1, description: 'File that holds the password.' }),
    ),
    passwordHash: secretText('Argon2id hash of the password in PHC form.', {
      format: 'phc-argon2id',
    }),
  },
  check: (values) => onlyOne(values, ['password', 'passwordFile', 'passwordHash']),
})
