/** Directories whose users could not sign in: the server asks each of them once. */

import { directoryProtocols } from '#schemas/drivers/identity-providers.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import type { Finding } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'

export const checkDirectories = async ({ api, target }: Connection): Promise<Finding[]> => {
  const { realm } = target
  if (realm === undefined) return []
  try {
    const listed = await api.documents.list(realm, IdentityProvider)
    const all = listed.map(({ doc }) => doc as IdentityProviderDoc)
    const enabled = all.filter((one) => one.enabled && directoryProtocols.has(one.protocol))
    const found = await Promise.all(
      enabled.map(async ({ alias }) => {
        const findings = await api.directories.check(realm, alias)
        return findings.map((one) => ({ ...one, message: `${alias}: ${one.message}` }))
      }),
    )
    return found.flat()
  } catch (cause) {
    // Missing permissions, a missing realm and an older server are findings of their own.
    if (isProblem(cause, 403) || isProblem(cause, 404)) return []
    throw cause
  }
}
