/** THE list of kinds that bring code along. */

import { agent } from './agent.ts'
import type { Behaviours } from './behaviour.ts'
import { client } from './client.ts'
import { clientScope } from './client-scope.ts'
import { flow } from './flow.ts'
import { group } from './group.ts'
import { identityProvider } from './identity-provider.ts'
import { role } from './role.ts'
import { samlClient } from './saml-client.ts'
import { scimTarget } from './scim-target.ts'
import { withSharedRules } from './shared-rules.ts'
import { type UserBehaviourParts, user } from './user.ts'
import { webhook } from './webhook.ts'

export const createBehaviours = (parts: UserBehaviourParts): Behaviours =>
  withSharedRules({
    agent,
    client,
    'client-scope': clientScope,
    flow,
    group,
    'identity-provider': identityProvider,
    role,
    'saml-client': samlClient,
    'scim-target': scimTarget,
    user: user(parts),
    webhook,
  })
