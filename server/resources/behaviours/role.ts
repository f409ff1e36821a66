/** Roles: a role does not contain itself, and one of them is the realm's default. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { contentOf } from '#server/storage/documents/document.ts'
import type { Behaviour } from '../behaviour.ts'
import type { Draft, Drafts } from '../drafts.ts'

const compositesOf = (draft: Draft): readonly string[] =>
  (draft.body?.['composites'] as string[] | undefined) ?? []

const contains = (drafts: Drafts, start: Draft): boolean => {
  const queue = [...compositesOf(start)]
  const seen = new Set<string>()
  for (let key = queue.pop(); key !== undefined; key = queue.pop()) {
    if (key === start.key) return true
    const next = seen.has(key) ? undefined : drafts.find(start.kind.kind, key)
    seen.add(key)
    if (next) queue.push(...compositesOf(next))
  }
  return false
}

export const role: Behaviour = {
  check: (draft, drafts) =>
    contains(drafts, draft)
      ? [{ field: '/composites', code: 'cycle', message: 'the role would contain itself' }]
      : [],

  present: async (documents, { view }) => {
    const settings = await view.get(Settings.kind, Settings.kind)
    const defaultRole = settings && contentOf<SettingsDoc>(settings).defaultRole
    return documents.map(({ key }) => ({ default: defaultRole === key }))
  },
}
