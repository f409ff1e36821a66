/**
 * Whether a client is the built-in client of `iamctl login`. Writes of any other form are refused
 * (schemas/access/command-line.ts); the check at each use also rejects a row that was changed in another way.
 */

import { commandLineFaults, commandLineId } from '#schemas/access/command-line.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import type { TokenClient } from './client.ts'

const known = new WeakMap<StoredDocument, boolean>()

const isAsBorn = (document: StoredDocument): boolean => {
  const before = known.get(document)
  if (before !== undefined) return before
  const isIt = document.origin === 'built-in' && commandLineFaults(document.body).length === 0
  known.set(document, isIt)
  return isIt
}

export const isCommandLine = ({ clientId, document }: TokenClient): boolean =>
  clientId === commandLineId && isAsBorn(document)
