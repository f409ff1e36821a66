/** Identity providers that users cannot sign in through: unreachable, another issuer, no keys, a clock that is off. */

import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'

const name = 'identity-provider'

const checkOne = async (
  { api }: Connection,
  realm: string,
  { alias, protocol }: IdentityProviderDoc,
): Promise<Finding[]> => {
  const findings = await api.identityProviders.check(realm, alias)
  if (findings.length === 0) return [ok(name, `${alias} (${protocol}) answers`)]
  return findings.map(({ level, message }) =>
    level === 'error'
      ? error(
          name,
          `users cannot sign in through ${alias} (${protocol}): ${message}`,
          `correct the config of ${alias}, or ask its operator`,
        )
      : warning(name, `${alias} (${protocol}): ${message}`, 'ask the operator of the provider'),
  )
}

/** Missing permissions and a missing realm are findings of their own; an older server has no such route. */
const orNothing = async <T>(work: Promise<readonly T[]>): Promise<readonly T[]> => {
  try {
    return await work
  } catch (cause) {
    if (isProblem(cause, 403) || isProblem(cause, 404)) return []
    throw cause
  }
}

/** Those that are enabled and whose protocol this version serves; one after the other. */
export const checkIdentityProviders = async (connection: Connection): Promise<Finding[]> => {
  const { api, target } = connection
  const { realm } = target
  if (realm === undefined) return []
  const findings: Finding[] = []
  for (const { doc } of await orNothing(api.documents.list(realm, IdentityProvider))) {
    const provider = doc as IdentityProviderDoc
    if (provider.enabled && IdentityProvider.serves(doc))
      findings.push(...(await orNothing(checkOne(connection, realm, provider))))
  }
  return findings
}
