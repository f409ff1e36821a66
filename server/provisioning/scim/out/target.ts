/** A SCIM target as its code sees it: the document with every default, its secrets opened, and what it deviates in. */

import { ScimTarget, type ScimTargetDoc } from '#schemas/kinds/provisioning/scim-target.ts'
import { parseScimFilter, type ScimFilter, ScimFilterError } from '#schemas/text/scim-filter.ts'
import { attributesOfScimFilter } from '#schemas/text/scim-filter-match.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { RealmView } from '#server/storage/documents/copy.ts'
import { contentOf, type StoredDocument } from '#server/storage/documents/document.ts'
import { type Profile, profileOf } from './protocol/profiles.ts'

export interface ScimTargetInUse {
  /** Of the document: the same after a rename. */
  readonly id: string
  readonly realm: string
  readonly name: string
  /** Changes with every write of the document. */
  readonly version: number
  readonly doc: ScimTargetDoc
  /** The SCIM root, without a slash at its end. */
  readonly root: string
  readonly profile: Profile
  readonly filter: ScimFilter | undefined
  /** Why nothing is sent: the document is older than the rule that it breaks. */
  readonly problem: string | undefined
  /** Whether it depends on groups who is sent. */
  readonly filtersByGroups: boolean
  readonly sendsGroups: boolean
  /** Opened when they are used. */
  readonly token: string | undefined
  readonly clientSecret: string | undefined
}

/** A filter that cannot be read neither includes nor excludes users. */
const filterOf = ({ filter }: ScimTargetDoc): Pick<ScimTargetInUse, 'filter' | 'problem'> => {
  try {
    const read = filter === undefined ? undefined : parseScimFilter(filter)
    return { filter: read, problem: undefined }
  } catch (error) {
    if (!(error instanceof ScimFilterError)) throw error
    return { filter: undefined, problem: `the filter cannot be read: ${error.message}` }
  }
}

export const targetOf = (
  document: StoredDocument,
  vault: Pick<Vault, 'reveal'>,
): ScimTargetInUse => {
  const doc = contentOf<ScimTargetDoc>(document)
  const { id, realm, key, version, secrets } = document
  const opened = (pointer: string): string | undefined => {
    const sealed = secrets[pointer]
    return sealed && (vault.reveal(document, pointer, sealed) ?? undefined)
  }
  const { filter, problem } = filterOf(doc)
  const profile = profileOf(doc.compatibility)
  return {
    id,
    realm,
    name: key,
    version,
    doc,
    root: doc.baseUrl.replace(/\/+$/, ''),
    profile,
    filter,
    problem,
    filtersByGroups: filter !== undefined && attributesOfScimFilter(filter).has('groups'),
    sendsGroups: doc.syncGroups && doc.syncUsers && profile.hasGroups,
    get token() {
      return opened('/token')
    },
    get clientSecret() {
      return opened('/clientSecret')
    },
  }
}

/** By name; those that are disabled are left out. */
export const enabledTargets = async (view: RealmView): Promise<readonly StoredDocument[]> =>
  (await view.list(ScimTarget.kind)).filter(
    (document) => contentOf<ScimTargetDoc>(document).enabled,
  )
