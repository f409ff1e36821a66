/** THE list of kinds that bring code along. */

import type { Behaviours } from '../behaviour.ts'
import { agent } from './agent.ts'
import { application } from './application.ts'
import { client } from './client.ts'
import { clientScope } from './client-scope.ts'
import { flow } from './flow.ts'
import { group } from './group.ts'
import { identityProvider } from './identity-provider.ts'
import { messagingProvider } from './messaging-provider.ts'
import { role } from './role.ts'
import { samlClient } from './saml-client.ts'
import { settings } from './settings.ts'
import { subjectClaim } from './subject-claim.ts'
import { type UserBehaviourParts, user } from './user.ts'

export const createBehaviours = (parts: UserBehaviourParts): Behaviours =>
  new Map(
    Object.entries({
      agent,
      application,
      client,
      'client-scope': clientScope,
      flow,
      group,
      'identity-provider': identityProvider,
      'messaging-provider': messagingProvider,
      role,
      'saml-client': samlClient,
      settings,
      'subject-claim': subjectClaim,
      user: user(parts),
    }),
  )
