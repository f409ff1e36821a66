/** Identity providers and directories that users could not sign in through: the server connects to each of them. */

import type { Doc } from '#schemas/json-schema.ts'
import type { Kind } from '#schemas/kind.ts'
import { Settings, type SettingsDoc } from '#schemas/kinds/settings.ts'
import { Flow } from '#schemas/kinds/sign-in/flow.ts'
import {
  IdentityProvider,
  type IdentityProviderDoc,
} from '#schemas/kinds/sign-in/identity-provider.ts'
import { complete } from '#schemas/normalize.ts'
import { missingStep, unreachedProviders } from '#schemas/rules/sign-in/unreached-providers.ts'
import { type Finding, warning } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'
import { findingOf } from './machine.ts'

/** Each waits for the timeouts of others: several at once, and not so many that the server is kept busy. */
const atOnce = 8

const checkOne = async (
  { api }: Connection,
  realm: string,
  { alias }: IdentityProviderDoc,
): Promise<Finding[]> => {
  const named = (one: Finding): Finding => ({ ...one, message: `${alias}: ${one.message}` })
  try {
    return (await api.identityProviders.check(realm, alias)).map(named)
  } catch (cause) {
    // Deleted meanwhile, or an older server.
    if (isProblem(cause, 404)) return []
    return [named(findingOf('provider', cause))]
  }
}

/** Missing permissions and a missing realm are findings of their own. */
const orNothing = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (cause) {
    if (isProblem(cause, 403) || isProblem(cause, 404)) return undefined
    throw cause
  }
}

/** By key, with every default in its place. */
const documentsOf = async (
  { api }: Connection,
  realm: string,
  kind: Kind,
): Promise<ReadonlyMap<string, Doc>> => {
  const found = (await orNothing(api.documents.list(realm, kind))) ?? []
  return new Map(found.map(({ key, doc }) => [key, complete(kind, doc)]))
}

/** A realm whose flow is older than its identity providers, or its own. */
const checkReach = async (
  connection: Connection,
  realm: string,
  providers: ReadonlyMap<string, Doc>,
): Promise<Finding[]> => {
  const settings = await orNothing(connection.api.documents.get(realm, Settings, Settings.kind))
  if (!settings) return []
  const flows = await documentsOf(connection, realm, Flow)
  const found = unreachedProviders({
    settings: complete(Settings, settings) as SettingsDoc,
    find: (kind, key) => (kind === Flow.kind ? flows.get(key) : undefined),
    all: () => providers,
  })
  return found
    ? [
        warning(
          'provider-flow',
          `users cannot sign in through ${found.aliases.join(', ')}: the flow "${found.flow}" (browserFlow) has no step identity-provider`,
          `add ${missingStep} to authenticationExecutions of the flow "${found.flow}"`,
        ),
      ]
    : []
}

export const checkIdentityProviders = async (connection: Connection): Promise<Finding[]> => {
  const { realm } = connection.target
  if (realm === undefined) return []
  const providers = await documentsOf(connection, realm, IdentityProvider)
  if (providers.size === 0) return []
  const enabled = [...providers.values()]
    .map((doc) => doc as IdentityProviderDoc)
    .filter((one) => one.enabled)
  const findings = await checkReach(connection, realm, providers)
  for (let i = 0; i < enabled.length; i += atOnce) {
    const some = enabled.slice(i, i + atOnce)
    const found = await Promise.all(some.map((one) => checkOne(connection, realm, one)))
    findings.push(...found.flat())
  }
  return findings
}
