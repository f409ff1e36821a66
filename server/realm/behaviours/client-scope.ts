/** Client scopes: a read names the claim mappers that are attached. */

import type { Behaviour } from './behaviour.ts'

export const clientScope: Behaviour = {
  present: async (documents) =>
    documents.map(({ body }) => ({
      protocolMappers: (body['claims'] as string[] | undefined) ?? [],
    })),
}
