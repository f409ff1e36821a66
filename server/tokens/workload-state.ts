/**
 * The workload credential behind a token. A token names the credential and the state that it was in: one that was changed,
 * disabled or deleted since is not the one that the workload was trusted by, and its tokens end with the next request. A
 * credential is configuration, which every node reads as it is now; nothing has to be stored for a token.
 */

import {
  WorkloadIdentity,
  type WorkloadIdentityDoc,
} from '#schemas/kinds/provisioning/workload-identity.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'

/** Without dots, which separate the parts of a `jti`. The hash tells a credential that was deleted and made again. */
export const workloadState = ({ id, version, hash }: StoredDocument): string =>
  `${id}~${version}-${hash.slice(0, 12)}`

/** Grants are named by their id alone. */
export const isWorkloadState = (text: string): boolean => text.includes('~')

/** Whether the credential is as it was when the token was issued, and enabled. */
export const isWorkloadLive = async (view: RealmView, state: string): Promise<boolean> => {
  const [id = ''] = state.split('~', 1)
  const document = await view.byId(WorkloadIdentity.kind, id)
  return (
    document !== undefined &&
    workloadState(document) === state &&
    contentOf<WorkloadIdentityDoc>(document).enabled
  )
}
