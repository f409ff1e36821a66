/** Section `database`: where everything is kept. */

import Type from 'typebox'
import { defineSection } from './section.ts'

export const database = defineSection({
  doc: 'Where everything is kept.',
  prefix: 'database',
  options: {
    url: Type.Optional(
      Type.String({
        description:
          'sqlite:PATH or postgres://USER@HOST:PORT/DATABASE. Default: sqlite:<data>/iamctl.db.',
        // It may hold a password.
        'x-secret': { flag: true },
      }),
    ),
    wait: Type.Integer({
      default: 30,
      minimum: 0,
      maximum: 3600,
      description:
        'Time for which a start waits for a PostgreSQL that cannot be reached yet, in seconds; 0 fails at once.',
    }),
  },
  check: ({ url }) =>
    url === undefined || /^(?:sqlite:.|postgres(?:ql)?:\/\/.)/.test(url)
      ? undefined
      : { option: 'url', message: 'must be sqlite:PATH or postgres://USER@HOST:PORT/DATABASE' },
})
