/** The settings of a realm, as a view has them. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import type { RealmView } from './copy.ts'
import { contentOf } from './document.ts'

/** Undefined where the realm was deleted since the view was taken. */
export const settingsOf = async (view: RealmView): Promise<SettingsDoc | undefined> => {
  const document = await view.get(Settings.kind, Settings.kind)
  return document && contentOf<SettingsDoc>(document)
}

/** For work that has no answer about a realm that is gone. */
export const requireSettings = async (view: RealmView): Promise<SettingsDoc> => {
  const settings = await settingsOf(view)
  if (!settings) throw new Error(`the realm ${view.realm} has no settings`)
  return settings
}
