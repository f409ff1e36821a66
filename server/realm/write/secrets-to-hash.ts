/** Secrets that were stored so that they can be revealed, in a realm whose settings no longer allow it. */

import type { SecretMark } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { secretFields } from '#schemas/walk.ts'
import type { StoredSecret } from '#server/storage/documents/document.ts'

/** A realm that keeps hashes keeps no value that it could reveal from before. */
export const isToBeHashed = (
  mark: SecretMark,
  stored: StoredSecret,
  revealable: boolean,
): boolean => mark.store === 'verify' && !revealable && !('hmac' in stored)

/** Whether a document holds a secret that the settings of its realm no longer allow to be revealed. */
export const hasSecretToHash = (
  {
    kind,
    sealed,
  }: { readonly kind: Kind; readonly sealed: Readonly<Record<string, StoredSecret>> },
  revealable: boolean,
): boolean =>
  secretFields(kind).some(({ pointer, mark }) => {
    const stored = sealed[pointer]
    return stored !== undefined && isToBeHashed(mark, stored, revealable)
  })
