/** A plan as the server carries it out: one operation for every change, in the plan's order. */

import type { ChangesetOperation } from '#schemas/wire/wire.ts'
import type { Change, RealmPlan, SecretChange } from './plan.ts'

/**
 * The value of a secret that the plan sets; the sender of the operations fetches it and keeps it nowhere. Undefined in a dry
 * run where it is not known.
 */
export type SecretValue = (change: Change, secret: SecretChange) => string | undefined

const operationOf = (change: Change, secretOf: SecretValue): ChangesetOperation => {
  const { action, kind, key, from, doc, ifHash } = change
  if (action === 'delete' || doc === null) return { op: 'delete', kind, key, ifHash }
  const secrets = change.secrets.flatMap((secret) => {
    const value = secretOf(change, secret)
    return value === undefined ? [] : [[secret.pointer, value] as const]
  })
  return {
    op: action === 'rename' ? 'rename' : 'put',
    kind,
    key,
    ...(from === null ? {} : { from }),
    doc,
    ifHash,
    ...(secrets.length > 0 ? { secrets: Object.fromEntries(secrets) } : {}),
    protected: change.protected.after,
  }
}

export const toOperations = (plan: RealmPlan, secretOf: SecretValue): ChangesetOperation[] =>
  plan.changes.map((change) => operationOf(change, secretOf))
