/** Settings of the realm that an earlier version accepted and that this one cannot use. */

import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { patternProblem } from '#schemas/text/linear-pattern.ts'
import { type Finding, warning } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'

const settingsOf = async ({ api, target }: Connection): Promise<SettingsDoc | undefined> => {
  if (target.realm === undefined) return undefined
  try {
    return (await api.documents.get(target.realm, Settings, Settings.kind)) as SettingsDoc
  } catch (cause) {
    // Missing permissions and a missing realm are findings of their own.
    if (isProblem(cause, 403) || isProblem(cause, 404)) return undefined
    throw cause
  }
}

export const checkRealm = async (connection: Connection): Promise<Finding[]> => {
  const pattern = (await settingsOf(connection))?.passwordPolicy.regexPattern
  const problem = pattern === undefined ? undefined : patternProblem(pattern)
  if (problem === undefined) return []
  return [
    warning(
      'password-pattern',
      `passwordPolicy.regexPattern of realm ${connection.target.realm} ${problem}: every new password is refused`,
      'replace the pattern, or ask for kinds of characters with digits, lowerCase, upperCase, specialChars',
    ),
  ]
}
