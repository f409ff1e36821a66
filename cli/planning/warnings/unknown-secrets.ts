/**
 * Secrets whose variables are not set where a plan is made. A credential that may only plan does without them: they are not
 * compared, the plan says so, and the saved plan demands them before it is applied.
 */

import type { SecretPlace } from '#schemas/wire/wire.ts'
import type { SecretSource } from '../../load/loaded.ts'
import { nameOf, placeKey } from '../names.ts'
import type { PlanWarning, RealmPlan, UnknownSecret } from '../plan.ts'

/** How many a warning names. */
const mostNamed = 20

const keyOf = ({ kind, key, pointer }: SecretPlace): string => `${placeKey(kind, key)}\n${pointer}`

const written = (source: SecretSource): string =>
  source.from === 'env' ? `\${env:${source.name}}` : source.from

/** Text of a plan instead of `(secret) set`. */
export const unknownText = (source: SecretSource): string =>
  `(unknown: ${written(source)} is not set)`

export const isUnknown = (
  { unknownSecrets = [] }: Pick<RealmPlan, 'unknownSecrets'>,
  place: SecretPlace,
): boolean => unknownSecrets.some((one) => keyOf(one) === keyOf(place))

/** Those that no change of the plan sets: whether they differ from what the server has is not known. */
export const uncompared = ({
  changes,
  unknownSecrets = [],
}: Pick<RealmPlan, 'changes' | 'unknownSecrets'>): readonly UnknownSecret[] => {
  const set = new Set(
    changes.flatMap(({ kind, key, secrets }) =>
      secrets.map(({ pointer }) => keyOf({ kind, key, pointer })),
    ),
  )
  return unknownSecrets.filter((one) => !set.has(keyOf(one)))
}

const described = ({ kind, key, pointer, source }: UnknownSecret): string =>
  `${pointer.slice(1).replaceAll('/', '.')} of ${nameOf(kind, key)} (${written(source)} is not set)`

export const unknownWarnings = (
  plan: Pick<RealmPlan, 'changes' | 'unknownSecrets'>,
): PlanWarning[] => {
  const left = uncompared(plan)
  if (left.length === 0) return []
  const more = left.length - mostNamed
  const names = left.slice(0, mostNamed).map(described).join(', ')
  return [
    {
      code: 'secret-unknown',
      message: `secrets were not compared, because their variables are not set: ${names}${more > 0 ? ` and ${more} more` : ''}`,
      documents: left.map(({ kind, key }) => ({ kind, key })),
    },
  ]
}
