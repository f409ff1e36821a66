/** From a request that its user approved elsewhere to the issued tokens; shared by the device grant and CIBA. */

import type { Clock } from '#server/platform/clock.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Verifier } from '#server/tokens/verify.ts'
import type { DecoupledRequests, DecoupledRow } from '../../decoupled/decoupled-requests.ts'
import { accessDenied, invalidGrant, oauthError } from '../../errors.ts'
import type { Codes } from '../codes.ts'
import { grantAuthentication } from './authentication.ts'
import type { GrantContext, Issuance } from './grant.ts'
import { narrowedResources } from './narrow.ts'
import type { Prolong } from './prolong.ts'

export interface ApprovedParts {
  readonly clock: Clock
  readonly grantsStore: GrantsStore
  readonly verifier: Verifier
  readonly codes: Codes
  readonly prolong: Prolong
}

const expired = oauthError('expired_token')
const refused = (detail: string) => invalidGrant('there is no such request', { detail })

export const createIssueApproved = (parts: ApprovedParts, requests: DecoupledRequests) => {
  const { clock, grantsStore, verifier, codes, prolong } = parts

  return async (context: GrantContext, row: DecoupledRow | undefined): Promise<Issuance> => {
    const { issuer, client, jkt } = context
    if (!row) throw refused('it is unknown, or it was redeemed')
    if (row.client_id !== client.id) throw refused('it was made by another client')
    if (row.expires_at <= clock.now()) throw expired('the request has expired')
    if (row.status === 'DENIED') throw accessDenied('the user did not allow it')
    if (row.status === 'PENDING') throw await requests.poll(row)
    const { grantId = '' } = requests.dataOf(row)
    const live = await verifier.grant(issuer, grantId)
    if (!live?.user) throw refused('the session or the user is gone')

    const { grant, user } = live
    const [scope, data] = [grantsStore.scopeOf(grant), grantsStore.dataOf(grant)]
    const { resources = [] } = data
    const { refresh, ...change } = prolong(context, grant, scope, data)
    // A confidential client may change its key (RFC 9449 §5): its secret binds the refresh token.
    const bound = jkt !== undefined && client.doc.publicClient ? { ...data, jkt } : data
    return {
      user,
      scope,
      resources: narrowedResources(client, resources, context.resources),
      authentication: grantAuthentication(grant, data),
      ...(data.claims ? { claims: data.claims } : {}),
      idToken: {},
      ...(refresh ? { refresh } : {}),
      statements: [
        ...requests.redeem(row),
        ...codes.redeem(grant, { ...change, data: bound }),
        ...(refresh?.statements ?? []),
      ],
      onConflict: async () => refused('it was redeemed, or ended, at the same moment'),
    }
  }
}
