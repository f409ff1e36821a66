/**
 * Workload credentials: one credential for an issuer, subject and audience, so that a JWT finds one answer, and only
 * scopes of the client that the workload acts as.
 */

import type { Doc } from '../../json-schema.ts'
import { Client, type ClientDoc } from '../../kinds/clients/client.ts'
import {
  WorkloadIdentity,
  type WorkloadIdentityDoc,
} from '../../kinds/provisioning/workload-identity.ts'
import type { FieldError } from '../../problems.ts'
import { type RuleContext, ruleFor } from '../rule.ts'

const conditions = ({ issuer, subject, audience }: WorkloadIdentityDoc): string =>
  JSON.stringify([issuer, subject, audience])

const indexes = new WeakMap<ReadonlyMap<string, Doc>, Map<string, string[]>>()

/** The keys of the credentials, by what a JWT must say; made once for all checks of one change. */
const byConditions = (all: ReadonlyMap<string, Doc>): Map<string, string[]> => {
  const known = indexes.get(all)
  if (known) return known
  const index = new Map<string, string[]>()
  for (const [key, doc] of all) {
    const wanted = conditions(doc as WorkloadIdentityDoc)
    index.set(wanted, [...(index.get(wanted) ?? []), key])
  }
  indexes.set(all, index)
  return index
}

const duplicateErrors = (
  doc: WorkloadIdentityDoc,
  key: string,
  { all }: RuleContext,
): FieldError[] => {
  const same = byConditions(all(WorkloadIdentity.kind)).get(conditions(doc)) ?? []
  const other = same.find((one) => one !== key)
  return other === undefined
    ? []
    : [
        {
          field: '/subject',
          code: 'taken',
          message: `"${other}" has the same issuer, subject and audience; change one of them or remove one credential`,
        },
      ]
}

const scopeErrors = (
  { scopes, clientId }: WorkloadIdentityDoc,
  { find }: RuleContext,
): FieldError[] => {
  const client = find(Client.kind, clientId) as ClientDoc | undefined
  if (!client) return []
  const allowed = new Set([...client.scopes, ...client.defaultScopes, 'openid'])
  return scopes
    .split(' ')
    .filter((scope) => scope !== '' && !allowed.has(scope))
    .map((scope) => ({
      field: '/scopes',
      code: 'scope-not-allowed',
      message: `client "${clientId}" may not request the scope "${scope}"; add it to the client's scopes`,
    }))
}

export const workloadIdentity = ruleFor<WorkloadIdentityDoc>(
  WorkloadIdentity,
  (doc, key, context) => [...duplicateErrors(doc, key, context), ...scopeErrors(doc, context)],
  [Client, WorkloadIdentity],
)
