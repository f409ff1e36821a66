/** A valid body for every admin route that takes one, so that a refusal is about what a test puts into it. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { userFields } from '#server/admin/actions/users.ts'
import { leastBody, sampleOf } from '../support/samples.ts'
import type { AdminRoute } from './admin-routes.ts'

export interface TakenBody {
  readonly body: Readonly<Record<string, unknown>>
  /** What the route lets a caller write. */
  readonly fields: Readonly<Record<string, JsonSchema>>
}

const text: JsonSchema = { type: 'string' }
let count = 0

const written: Readonly<Record<string, () => TakenBody>> = {
  'create-realm': () => ({
    body: { realm: `made-${count}` },
    fields: { realm: text, displayName: text, adminUsername: text, adminPassword: text },
  }),
  'create-user': () => ({ body: { username: `user-${count}` }, fields: userFields }),
  'replace-user': () => ({ body: { username: `user-${count}` }, fields: userFields }),
  'assign-user-role': () => ({ body: { name: 'user' }, fields: { name: text } }),
  'set-user-password': () => ({
    body: { newPassword: `nobody guesses this one ${count}` },
    fields: { newPassword: text },
  }),
  'set-admin-role': () => ({
    body: { permissions: ['view-users'] },
    fields: { permissions: { type: 'array', items: text } },
  }),
}

/** A route once for each body that it takes, where it takes one of several. */
export const variantsOf = (route: AdminRoute): readonly AdminRoute[] =>
  route.body?.oneOf?.map((body) => ({ ...route, body })) ?? [route]

/** Any body that a route accepts, also where it is a list or goes with a DELETE; nothing where it takes none. */
export const bodyFor = (route: AdminRoute): unknown =>
  takenBy(route)?.body ?? (route.body && sampleOf(route.body))

/** What a route takes as a JSON object. */
export const takenBy = ({ method, operationId, body }: AdminRoute): TakenBody | undefined => {
  if (!['POST', 'PUT', 'PATCH'].includes(method) || !body?.properties) return undefined
  count += 1
  const known = written[String(operationId)]
  if (known) return known()
  const kind = kinds.find((one) =>
    ['create', 'replace', 'upsert'].some((verb) =>
      [`${verb}-${one.kind}`, `${verb}-${one.kind}-by-key`].includes(String(operationId)),
    ),
  )
  const valid = kind ? leastBody(kind) : (sampleOf(body) as Record<string, unknown>)
  return { body: valid, fields: body.properties }
}
