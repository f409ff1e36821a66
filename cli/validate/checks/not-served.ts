/** Documents that nothing in this version uses: each kind once, at its first such document. */

import { notServed } from '#schemas/kind.ts'
import type { Finding } from '../finding.ts'
import type { Model } from '../model.ts'

export const checkServed = (model: Model): Finding[] => {
  const unused = model.declared.filter(({ kind, doc }) => !kind.serves(doc))
  return [...Map.groupBy(unused, ({ kind }) => kind).values()].flatMap((documents) =>
    documents.slice(0, 1).map(({ pointer }) => ({
      severity: 'warning',
      code: 'not-served',
      pointer,
      message:
        documents.length === 1
          ? notServed
          : `${notServed}; ${documents.length} documents of this kind`,
    })),
  )
}
