/**
 * Existing users that the files declare for the first time: the plan shows them as created, and the server tells which values
 * the apply replaces.
 */

import type { Impact } from '#schemas/wire/wire.ts'
import { nameOf } from '../names.ts'
import type { PlanWarning } from '../plan.ts'

export const replacementWarnings = (impacts: readonly Impact[]): PlanWarning[] =>
  impacts.flatMap(({ kind, key, replaces }) =>
    replaces === undefined
      ? []
      : [
          {
            code: 'user-exists',
            message:
              `${nameOf(kind, key)} exists and was in no file so far; the apply replaces what the files say otherwise or leave out: ` +
              replaces.join(', '),
            documents: [{ kind, key }],
          },
        ],
  )
