/** SCIM targets that users could not be provisioned to: the server connects to each of them. */

import type { Doc } from '#schemas/json-schema.ts'
import { ScimTarget, type ScimTargetDoc } from '#schemas/kinds/provisioning/scim-target.ts'
import { complete } from '#schemas/normalize.ts'
import { error, type Finding } from '#schemas/wire/findings.ts'
import type { Connection } from '../client/connect.ts'
import { isProblem } from '../client/http/errors.ts'
import { shellWord } from '../shell-word.ts'
import { findingOf } from './machine.ts'

const checkOne = async (
  { api }: Connection,
  realm: string,
  { name }: ScimTargetDoc,
): Promise<Finding[]> => {
  const named = (one: Finding): Finding => ({ ...one, message: `${name}: ${one.message}` })
  try {
    const { lastError } = await api.scimTargets.status(realm, name)
    const findings = await api.scimTargets.check(realm, name)
    const isReached = findings.every(({ status }) => status !== 'error')
    const held =
      lastError !== null && isReached
        ? [
            error(
              'scim-sync',
              lastError,
              `compare with \`iamctl scim reconcile ${shellWord(name)} --dry-run\``,
            ),
          ]
        : []
    return [...findings, ...held].map(named)
  } catch (cause) {
    // Deleted meanwhile, or an older server.
    if (isProblem(cause, 404)) return []
    return [named(findingOf('scim-access', cause))]
  }
}

const documentsOf = async ({ api }: Connection, realm: string): Promise<readonly Doc[]> => {
  try {
    const found = await api.documents.list(realm, ScimTarget)
    return found.map(({ doc }) => complete(ScimTarget, doc))
  } catch (cause) {
    // Missing permissions and a missing realm are findings of their own.
    if (isProblem(cause, 403) || isProblem(cause, 404)) return []
    throw cause
  }
}

export const checkScimTargets = async (connection: Connection): Promise<Finding[]> => {
  const { realm } = connection.target
  if (realm === undefined) return []
  const targets = (await documentsOf(connection, realm)) as readonly ScimTargetDoc[]
  const findings: Finding[] = []
  for (const target of targets.filter(({ enabled }) => enabled))
    findings.push(...(await checkOne(connection, realm, target)))
  return findings
}
