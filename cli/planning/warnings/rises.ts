/** Rises of privilege: the server tells them, who alone knows what every role comes to; a plan warns of each. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { kindNamed } from '#schemas/registry.ts'
import type { Impact } from '#schemas/wire/wire.ts'
import { nameOf } from '../names.ts'
import type { Change, PlanWarning, RealmPlan } from '../plan.ts'

/** Fields that hold permissions, or the limit of what a client does with its own. */
const ownFields = new Set(['permissions', 'adminAccess', 'defaultScopes'])

const isGrant = (name: string, schema: JsonSchema): boolean =>
  ownFields.has(name) || (schema['x-ref'] ?? schema.items?.['x-ref'])?.grants === true

const touches = ({ kind, action, fields, doc }: Change): boolean => {
  const names = Object.entries(kindNamed(kind).spec.properties ?? {})
    .filter(([name, schema]) => isGrant(name, schema))
    .map(([name]) => name)
  return action === 'create'
    ? names.some((name) => doc?.[name] !== undefined)
    : names.some((name) =>
        fields.some(({ pointer }) => pointer === `/${name}` || pointer.startsWith(`/${name}/`)),
      )
}

/**
 * Whether the plan changes what grants permissions; a group that moves gets those of its new place. In a realm that the apply
 * makes, every grant is in the plan as a whole: there is nothing before it that could rise.
 */
export const mayRaise = ({ changes, createRealm }: RealmPlan): boolean =>
  !createRealm && changes.some((change) => touches(change) || change.action === 'rename')

export const riseWarnings = (impacts: readonly Impact[]): PlanWarning[] =>
  impacts.flatMap(({ kind, key, gains }) =>
    gains === undefined
      ? []
      : [
          {
            code: 'rise-of-privilege',
            message: `rise of privilege: ${nameOf(kind, key)} gains ${gains.join(', ')}`,
            documents: [{ kind, key }],
          },
        ],
  )
