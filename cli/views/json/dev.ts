/** `iamctl dev --output json`: every happening as one line. */

import type { OpenDevView, Stamped } from '../../dev/happenings.ts'
import { printJsonLine } from './json.ts'

/** Without what is only for code frames, and with the plan in short: its documents are in the files. */
const bodyOf = (happening: Stamped): object => {
  if (happening.type !== 'synced') return happening
  const { outcome, ...rest } = happening
  const { status, message, diagnostics, milliseconds, plan } = outcome
  const realms = plan?.realms.map(({ realm, createRealm, changes, summary, warnings }) => ({
    realm,
    createRealm,
    summary,
    warnings,
    changes: changes.map(({ action, kind, key, from, fields, secrets }) => ({
      action,
      kind,
      key,
      from,
      fields,
      secrets: secrets.map(({ pointer, change }) => ({ pointer, change })),
    })),
  }))
  return { ...rest, status, message, diagnostics, milliseconds, realms: realms ?? [] }
}

export const openJsonView: OpenDevView = async () => ({
  show: (happening) => printJsonLine(bodyOf(happening)),
  close: async () => undefined,
})
