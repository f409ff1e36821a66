/** Puts the sign-in together from its lists: authenticators, conditions and required actions. */

import type { Ranks } from '#server/users/permissions.ts'
import { createRequiredActions } from '../actions/index.ts'
import { createAuthenticators } from '../authenticators/index.ts'
import { createConditions } from '../conditions/index.ts'
import { createAdministrators } from '../messages/administrators.ts'
import { createDirectLack, type DirectLack } from './direct-grant.ts'
import { createEngine, type Engine, type EngineParts } from './engine.ts'
import type { FactorParts } from './factor-parts.ts'

export type SignInParts = Omit<FactorParts, 'administrators'> &
  Omit<EngineParts, 'steps' | 'conditions' | 'actions' | 'hasFactor' | 'administrators'> & {
    readonly ranks: Pick<Ranks, 'permissionsOf'>
  }

export const createSignInEngine = (
  given: SignInParts,
): Engine & { readonly directLack: DirectLack } => {
  const parts = { ...given, administrators: createAdministrators(given) }
  const complete = {
    ...parts,
    steps: createAuthenticators(parts),
    conditions: createConditions(parts),
    actions: createRequiredActions(parts),
    hasFactor: parts.factors.hasFactor,
  }
  return { ...createEngine(complete), directLack: createDirectLack(complete) }
}
