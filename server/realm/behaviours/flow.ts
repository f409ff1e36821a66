/** Flows: what a read adds to the document. */

import type { Behaviour } from './behaviour.ts'

export const flow: Behaviour = {
  present: async (documents) => documents.map(({ origin }) => ({ builtIn: origin === 'built-in' })),
}
