/** What requests to register and to manage a client share: the realm, its policy, the bearer token, the metadata. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Issuer, Issuers } from '#server/tokens/issuers.ts'
import { provisioningOf } from '../endpoint.ts'
import { notOffered } from './errors.ts'
import { type Metadata, readMetadata } from './metadata.ts'
import { checkOutside, type Outside } from './outside.ts'
import { allowedScopes, fieldsUnder, type Policy } from './policy.ts'
import type { SoftwareStatements } from './software-statements.ts'

/** A realm in which clients register themselves. */
export interface Offered {
  readonly issuer: Issuer
  readonly policy: Policy
}

/** The metadata that counts, and the fields of the document for it. */
export interface ReadClient {
  readonly metadata: Metadata
  readonly fields: Doc
}

export interface Requests {
  /** Throws where the realm does not offer it, or does not exist. */
  offeredBy(realm: string): Promise<Offered>
  /** Throws where the policy of the realm refuses it. */
  readClient(offered: Offered, body: unknown): Promise<ReadClient>
}

export const createRequests = ({
  issuers,
  outgoing,
  softwareStatements,
}: {
  readonly issuers: Issuers
  readonly outgoing: Outside
  readonly softwareStatements: SoftwareStatements
}): Requests => ({
  offeredBy: async (realm) => {
    const issuer = await issuers.fresh(realm)
    const policy = issuer && (await provisioningOf(issuer.view))
    if (!issuer || !policy?.dcrEnabled) throw notOffered()
    return { issuer, policy }
  },
  readClient: async ({ issuer, policy }, body) => {
    const metadata = await softwareStatements(readMetadata(body), policy)
    const fields = fieldsUnder(metadata, policy, await allowedScopes(issuer.view, policy))
    return { metadata, fields: { ...fields, ...(await checkOutside(outgoing, metadata)) } }
  },
})
