/** A plan as the changeset that the server gets: to carry it out, or to try what it would do. */

import { randomBytes } from 'node:crypto'
import { type ChangesetRequest, formatVersion, type SecretPlace } from '#schemas/wire/wire.ts'
import { type SecretValue, toOperations } from './operations.ts'
import type { RealmPlan } from './plan.ts'
import { isUnknown } from './warnings/unknown-secrets.ts'

/** The value of a secret, fetched before the first request. */
export type SecretOf = (realm: string, secret: SecretPlace) => string

export interface ChangesetOptions {
  readonly message?: string
  readonly provenance: Readonly<Record<string, string>>
  /** Go on where the realm moved, but none of the plan's documents did. */
  readonly allowUnrelated: boolean
  readonly takeOver: boolean
  readonly secretOf: SecretOf
}

const requestOf = (
  plan: RealmPlan,
  { message, provenance, allowUnrelated, takeOver }: ChangesetOptions,
  secretOf: SecretValue,
): ChangesetRequest => ({
  formatVersion,
  baseRevision: plan.baseRevision,
  source: plan.source,
  ...(plan.createRealm ? { createRealm: true } : {}),
  ...(message === undefined ? {} : { message }),
  ...(Object.keys(provenance).length > 0 ? { provenance: { ...provenance } } : {}),
  ...(allowUnrelated ? { allowUnrelated } : {}),
  ...(takeOver ? { takeOver } : {}),
  operations: toOperations(plan, secretOf),
})

/** Every secret of it has a value: a plan that was made without some is completed before it is sent. */
export const changesetOf = (plan: RealmPlan, options: ChangesetOptions): ChangesetRequest => {
  if ((plan.unknownSecrets ?? []).length > 0)
    throw new Error(`the plan of realm ${plan.realm} was made without some of its secrets`)
  return requestOf(plan, options, ({ kind, key }, { pointer }) =>
    options.secretOf(plan.realm, { kind, key, pointer }),
  )
}

/**
 * Secrets that are not known are left out. Where the server wants a stored one again because it will be sent elsewhere, a random
 * text replaces it: a dry run stores nothing.
 */
export const dryRunOf = (plan: RealmPlan, options: ChangesetOptions): ChangesetRequest => ({
  ...requestOf(plan, options, ({ kind, key }, { pointer, change }) => {
    const place = { kind, key, pointer }
    if (!isUnknown(plan, place)) return options.secretOf(plan.realm, place)
    return change === 'again' ? randomBytes(32).toString('base64url') : undefined
  }),
  dryRun: true,
})
