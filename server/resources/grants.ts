/**
 * Nobody grants what they do not hold. Permissions sit on roles and travel along references marked `grants`
 * (composites, a group's roles, a user's groups …) and down a tree, so one walk over the marks finds every way in.
 */

import { isDeepStrictEqual } from 'node:util'
import { parentKeyOf } from '#schemas/kind.ts'
import { effectivePermissions, type Permission } from '#schemas/permissions.ts'
import { Problem } from '#schemas/problems.ts'
import { referencesOf } from '#schemas/walk.ts'
import type { Caller } from '#server/http/caller.ts'
import type { Draft, Drafts } from './drafts.ts'
import { addedReferences } from './references.ts'

const permissionsIn = (body: Readonly<Record<string, unknown>> | null | undefined): Permission[] =>
  (body?.['permissions'] as Permission[] | undefined) ?? []

const parentOf = (drafts: Drafts, draft: Draft): Draft | undefined => {
  const above = draft.kind.shape === 'tree' ? parentKeyOf(draft.kind, draft.key) : null
  return above === null ? undefined : drafts.find(draft.kind.kind, above)
}

/** What holding, or being in, this document amounts to. */
const permissionsOf = (drafts: Drafts, start: Draft): Set<Permission> => {
  const found = new Set<Permission>()
  const seen = new Set<Draft>()
  const queue = [start]
  for (let draft = queue.pop(); draft; draft = queue.pop()) {
    if (seen.has(draft) || draft.body === null) continue
    seen.add(draft)
    for (const permission of permissionsIn(draft.body)) found.add(permission)
    const parent = parentOf(drafts, draft)
    if (parent) queue.push(parent)
    for (const { grants, kind, key } of referencesOf(draft.kind, draft.body)) {
      const target = grants ? drafts.find(kind, key) : undefined
      if (target) queue.push(target)
    }
  }
  return found
}

const newlyGranted = (drafts: Drafts, draft: Draft): Permission[] => {
  const givers = addedReferences(draft).flatMap(({ grants, kind, key }) => {
    const target = grants ? drafts.find(kind, key) : undefined
    return target ? [target] : []
  })
  const parent = parentOf(drafts, draft)
  const moved = parent && parentKeyOf(draft.kind, draft.before?.key ?? '') !== parent.key
  return [...givers, ...(moved ? [parent] : [])].flatMap((giver) => [
    ...permissionsOf(drafts, giver),
  ])
}

export const refuseEscalation = (
  drafts: Drafts,
  changed: readonly Draft[],
  { permissions }: Caller,
): void => {
  if (permissions.has('realm-admin')) return
  for (const draft of changed) {
    if (draft.body === null) continue
    if (!isDeepStrictEqual(permissionsIn(draft.before?.body), permissionsIn(draft.body)))
      throw new Problem('forbidden', 'only realm-admin may change the permissions of a role')
    const missing = [...effectivePermissions(newlyGranted(drafts, draft))].find(
      (permission) => !permissions.has(permission),
    )
    if (missing)
      throw new Problem(
        'forbidden',
        `${draft.kind.kind} "${draft.key}" would grant ${missing}, which you do not hold`,
      )
  }
}
