/** Asks a target what it can do (RFC 7643 §5), and tells what would fail and which `compatibility` fits. */

import type { ScimTargetDoc } from '#schemas/kinds/provisioning/scim-target.ts'
import { error, type Finding, ok, warning } from '#schemas/wire/findings.ts'
import type { ScimClient } from './protocol/client.ts'
import { ScimRefusal } from './protocol/refusal.ts'
import type { ScimTargetInUse } from './target.ts'

interface Abilities {
  readonly patch?: { readonly supported?: unknown }
  readonly filter?: { readonly supported?: unknown }
}

const hosts: readonly (readonly [RegExp, ScimTargetDoc['compatibility']])[] = [
  [/(^|\.)amazonaws\.com(\.cn)?$/, 'aws'],
  [/(^|\.)slack\.com$/, 'slack'],
  [/(^|\.)gitlab\.com$/, 'gitlab'],
]

const fittingProfile = (
  { doc }: ScimTargetInUse,
  { patch }: Abilities,
): ScimTargetDoc['compatibility'] => {
  if (patch?.supported === false) return 'put'
  const { hostname } = new URL(doc.baseUrl)
  const vendor = hosts.find(([form]) => form.test(hostname))?.[1]
  // A service that its owner runs, or a proxy before one, has any address: the chosen vendor stands.
  return vendor ?? (doc.compatibility === 'put' ? 'default' : doc.compatibility)
}

const profileFinding = (target: ScimTargetInUse, abilities: Abilities): Finding => {
  const { compatibility } = target.doc
  const fitting = fittingProfile(target, abilities)
  return fitting === compatibility
    ? ok('scim-profile', `compatibility ${compatibility} fits`)
    : warning(
        'scim-profile',
        `compatibility is ${compatibility}, and ${fitting} fits${fitting === 'put' ? ': the target has no PATCH' : ' its address'}`,
        `set compatibility: ${fitting}`,
      )
}

const filterFinding = ({ filter }: Abilities): Finding[] =>
  filter?.supported === false
    ? [
        warning(
          'scim-filter',
          'the target does not filter: users that it already has are not found before one is created',
          'compare with `iamctl scim reconcile … --dry-run` before you enable it',
        ),
      ]
    : []

const refused = (check: string, cause: unknown): Finding => {
  if (!(cause instanceof ScimRefusal)) throw cause
  return error(
    check,
    cause.message,
    cause.status === 401 || cause.status === 403
      ? 'check token, or clientId and clientSecret'
      : 'check baseUrl, and that the server may reach it',
  )
}

export const checkTarget = async (
  target: ScimTargetInUse,
  open: () => ScimClient,
): Promise<readonly Finding[]> => {
  const findings: Finding[] = []
  try {
    await open().page({ startIndex: 1, count: 1 })
    findings.push(ok('scim-access', 'users can be read'))
  } catch (cause) {
    return [refused('scim-access', cause)]
  }
  try {
    const abilities = ((await open().config()) ?? {}) as Abilities
    findings.push(profileFinding(target, abilities), ...filterFinding(abilities))
  } catch (cause) {
    if (!(cause instanceof ScimRefusal)) throw cause
    findings.push(
      warning(
        'scim-profile',
        `the target does not say what it can do: ${cause.message}`,
        'try compatibility: put if changes are refused',
      ),
    )
  }
  return findings
}
