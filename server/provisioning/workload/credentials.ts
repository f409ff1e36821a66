/** The workload credentials of a realm, found by what a JWT says: issuer, subject and audience, byte for byte. */

import {
  WorkloadIdentity,
  type WorkloadIdentityDoc,
} from '#schemas/kinds/provisioning/workload-identity.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { perView } from '#server/storage/documents/kept.ts'
import { audienceOf, type WorkloadClaims } from './workload-token.ts'

export interface WorkloadCredential {
  readonly document: StoredDocument
  readonly doc: WorkloadIdentityDoc
}

const conditions = (...values: readonly string[]): string => JSON.stringify(values)

const indexOf = perView(async (view): Promise<ReadonlyMap<string, WorkloadCredential>> => {
  const documents = await view.list(WorkloadIdentity.kind)
  return new Map(
    documents.map((document) => {
      const doc = contentOf<WorkloadIdentityDoc>(document)
      return [conditions(doc.issuer, doc.subject, doc.audience), { document, doc }]
    }),
  )
})

export type FindCredential = (
  view: RealmView,
  claims: WorkloadClaims,
) => Promise<WorkloadCredential | undefined>

/** A rule of the kind keeps the three unique in a realm: at most one credential fits a JWT. */
export const findCredential: FindCredential = async (view, claims) => {
  const { iss, sub } = claims
  const aud = audienceOf(claims)
  if (typeof iss !== 'string' || typeof sub !== 'string' || aud === undefined) return undefined
  return (await indexOf(view)).get(conditions(iss, sub, aud))
}
