/**
 * Documents that left the files while other entries of the files still name them. The server would take the name out of those
 * that let go of it, and delete those that cannot be without it: the realm would not be what its files say.
 */

import type { Desired } from '#schemas/realm/desired.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { Place as SourcePlace } from '../../diagnostics.ts'
import { nameOf, placeKey } from '../names.ts'
import type { PlanProblem } from '../plan.ts'
import { placeOf } from '../warnings/left-out.ts'
import type { Deletion } from './deletions.ts'

export const stillNamed = (
  deletions: readonly Deletion[],
  desired: readonly Desired[],
  placeAt: (pointer: string) => SourcePlace | undefined,
): PlanProblem[] => {
  if (deletions.length === 0) return []
  const gone = new Set(
    deletions.flatMap(({ left, along }) =>
      [placeOf(left), ...along.map(placeOf)].map(({ kind, key }) => placeKey(kind, key)),
    ),
  )
  for (const { kind, key } of desired) gone.delete(placeKey(kind.kind, key))
  return desired.flatMap(({ kind, key, body, pointer }) =>
    referencesOf(kind, body, key).flatMap((reference): PlanProblem[] => {
      if (!gone.has(placeKey(reference.kind, reference.key))) return []
      const place = placeAt(`${pointer}${reference.pointer}`) ?? placeAt(pointer) ?? null
      return [
        {
          code: 'missing-reference',
          kind: kind.kind,
          key,
          message:
            `${nameOf(kind.kind, key)} names ${nameOf(reference.kind, reference.key)}, which left the files and would be destroyed; ` +
            'put it back into the files, or take its name out here',
          place,
        },
      ]
    }),
  )
}
