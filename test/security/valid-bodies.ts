/** A valid body for every admin route that takes one, so that a refusal is about what a test puts into it. */

import type { JsonSchema } from '#schemas/json-schema.ts'
import { kinds } from '#schemas/registry.ts'
import { bodyView } from '#schemas/views.ts'
import { userFields } from '#server/admin/actions/users.ts'
import { leastBody } from '../support/samples.ts'
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

/** Fails for a route that takes a body and is not known here. */
export const takenBy = ({ method, operationId }: AdminRoute): TakenBody | undefined => {
  if (!['POST', 'PUT', 'PATCH'].includes(method)) return undefined
  count += 1
  const known = written[String(operationId)]
  if (known) return known()
  const kind = kinds.find((one) =>
    [`create-${one.kind}`, `replace-${one.kind}`, `upsert-${one.kind}`].includes(
      String(operationId),
    ),
  )
  if (!kind) throw new Error(`say in valid-bodies.ts what ${operationId} takes`)
  return { body: leastBody(kind), fields: bodyView(kind).properties ?? {} }
}
