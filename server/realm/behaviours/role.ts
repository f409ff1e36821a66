/** Roles: one of them is the realm's default. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { Behaviour } from './behaviour.ts'

export const role: Behaviour = {
  present: async (documents, { view }) => {
    const settings = await view.get(Settings.kind, Settings.kind)
    const defaultRole = settings && contentOf<SettingsDoc>(settings).defaultRole
    return documents.map(({ key }) => ({ default: defaultRole === key }))
  },
}
