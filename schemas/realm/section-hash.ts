/** One hash for a section: equal if and only if its documents and their content are equal. */

import { createHash } from 'node:crypto'

export interface Hashed {
  readonly kind: string
  readonly key: string
  readonly hash: string
  readonly protected: boolean
}

const placeOf = ({ kind, key }: Hashed): string => `${kind}\n${key}`

export const sectionHash = (documents: readonly Hashed[]): string => {
  const lines = documents.map(
    (document) => `${placeOf(document)}\n${document.hash}\n${document.protected ? 1 : 0}\n`,
  )
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex')
}
