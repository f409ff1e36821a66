/** Puts the sign-in together from its lists: authenticators, conditions and required actions. */

import { createRequiredActions } from './actions/index.ts'
import { createAuthenticators } from './authenticators/index.ts'
import { createConditions } from './conditions/index.ts'
import { createEngine, type Engine, type EngineParts } from './engine.ts'
import type { FactorParts } from './factor-parts.ts'

export type SignInParts = FactorParts &
  Omit<EngineParts, 'steps' | 'conditions' | 'actions' | 'hasFactor'>

export const createSignInEngine = (parts: SignInParts): Engine =>
  createEngine({
    ...parts,
    steps: createAuthenticators(parts),
    conditions: createConditions(parts),
    actions: createRequiredActions(parts),
    hasFactor: parts.factors.hasFactor,
  })
