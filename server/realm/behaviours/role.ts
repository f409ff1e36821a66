/** Roles: one of them is the realm's default. */

import { settingsOf } from '#server/storage/documents/settings.ts'
import type { Behaviour } from './behaviour.ts'

export const role: Behaviour = {
  present: async (documents, { view }) => {
    const defaultRole = (await settingsOf(view))?.defaultRole
    return documents.map(({ key }) => ({ default: defaultRole === key }))
  },
}
