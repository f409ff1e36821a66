/**
 * Whether a client is the built-in client of `iamctl login`. Writes of any other form are refused
 * (schemas/access/command-line.ts); the check at each use also rejects a row that was changed in another way.
 */

import { commandLineFaults, commandLineId } from '#schemas/access/command-line.ts'
import { perDocument } from '#server/storage/documents/kept.ts'
import type { TokenClient } from './client.ts'

const isAsBorn = perDocument(
  ({ origin, body }) => origin === 'built-in' && commandLineFaults(body).length === 0,
)

export const isCommandLine = ({ clientId, document }: TokenClient): boolean =>
  clientId === commandLineId && isAsBorn(document)
