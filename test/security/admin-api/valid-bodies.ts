/** A valid body for every admin route that takes one, so that a refusal is about what a test puts into it. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { kindNamed } from '#schemas/registry.ts'
import { leastBody, sampleOf } from '../../support/samples.ts'
import type { AdminRoute } from './admin-routes.ts'

type Fields = Readonly<Record<string, JsonSchema>>

export interface TakenBody {
  readonly body: Readonly<Record<string, unknown>>
  /** What the route lets a caller write. */
  readonly fields: Fields
  /** Names of what a caller may repeat and not change. */
  readonly readOnly: readonly string[]
}

let count = 0

/** Where the description alone does not tell what the server accepts. */
const written: Readonly<Record<string, () => TakenBody['body']>> = {
  'create-realm': () => ({ realm: `made-${count}` }),
  'create-user': () => ({ username: `user-${count}` }),
  'replace-user': () => ({ username: `user-${count}` }),
  'assign-user-role': () => ({ name: 'user' }),
  'set-user-password': () => ({ newPassword: `nobody guesses this one ${count}` }),
  'set-admin-role': () => ({ permissions: ['view-users'] }),
}

/** A body in each of its forms, where it has several. */
export const variantsOf = (body: JsonSchema): readonly JsonSchema[] => body.oneOf ?? [body]

/** A route once for each form of its body. */
export const routeVariants = (route: AdminRoute): readonly AdminRoute[] =>
  route.body ? variantsOf(route.body).map((body) => ({ ...route, body })) : [route]

export const writableIn = ({ properties = {} }: JsonSchema): Fields =>
  Object.fromEntries(Object.entries(properties).filter(([, { readOnly }]) => readOnly !== true))

/** Any body that a route accepts, also where it is a list or goes with a DELETE; nothing where it takes none. */
export const bodyFor = (route: AdminRoute): unknown =>
  takenBy(route)?.body ?? (route.body && sampleOf(route.body))

/** What a route takes as a JSON object. */
export const takenBy = ({ method, operationId, kind, body }: AdminRoute): TakenBody | undefined => {
  if (!['POST', 'PUT', 'PATCH'].includes(method) || !body?.properties) return undefined
  count += 1
  const fields = writableIn(body)
  const ofKind = kind === undefined ? undefined : leastBody(kindNamed(kind))
  return {
    body: written[operationId]?.() ?? ofKind ?? (sampleOf(body) as TakenBody['body']),
    fields,
    readOnly: Object.keys(body.properties).filter((name) => !(name in fields)),
  }
}
