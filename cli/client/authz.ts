/** Calls about the authorization services of a client. */

import type {
  AuthzEvaluation,
  AuthzQuestion,
  OwnerPolicyRecord,
  ShareRecord,
} from '#schemas/wire/records.ts'
import { type Call, path } from './http/call.ts'

const atOnce = 1000

export const authzCalls = (call: Call) => {
  const below = (realm: string, client: string, rest: string): string =>
    path`/admin/realms/${realm}/clients/${client}/authz/${rest}`

  /** Oldest first, so that one which is added meanwhile comes last. */
  const all = async <T extends { readonly id: string }>(where: string): Promise<T[]> => {
    const found = new Map<string, T>()
    for (let first = 0; ; first += atOnce) {
      const { body } = await call<T[]>('GET', where, { query: { first, max: atOnce } })
      for (const one of body) found.set(one.id, one)
      if (body.length < atOnce) return [...found.values()]
    }
  }

  return {
    /** A decision of the client's authorization services, explained. */
    async evaluate(realm: string, client: string, json: AuthzQuestion): Promise<AuthzEvaluation> {
      const where = below(realm, client, 'evaluate')
      return (await call<AuthzEvaluation>('POST', where, { json, repeatable: true })).body
    },
    ownerPolicies: (realm: string, client: string): Promise<OwnerPolicyRecord[]> =>
      all(below(realm, client, 'owner-policies')),
    shares: (realm: string, client: string): Promise<ShareRecord[]> =>
      all(below(realm, client, 'shares')),
  }
}
