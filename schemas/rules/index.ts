/** THE list of rules, at most one entry a kind. */

import type { Kind } from '../kind.ts'
import { authzPolicy } from './authorization/authz-policy.ts'
import { application } from './clients/application.ts'
import { client } from './clients/client.ts'
import { samlClient } from './clients/saml-client.ts'
import { samlClientMapper } from './clients/saml-client-mapper.ts'
import { messageTemplate } from './notifications/message-template.ts'
import { messagingProvider } from './notifications/messaging-provider.ts'

import { agent } from './provisioning/agent.ts'
import { provisioning } from './provisioning/provisioning.ts'
import { scimTarget } from './provisioning/scim-target.ts'

import { workloadIdentity } from './provisioning/workload-identity.ts'
import type { KindRule, Rule } from './rule.ts'
import { settings } from './settings.ts'
import { flow } from './sign-in/flow.ts'
import { identityProvider } from './sign-in/identity-provider.ts'
import { identityProviderMapper } from './sign-in/identity-provider-mapper.ts'
import { claim, clientMapper } from './tokens/claim-mapper.ts'
import { keyPolicy } from './tokens/key-policy.ts'
import { subjectClaim } from './tokens/subject-claim.ts'
import { organization } from './users/organization.ts'
import { role } from './users/role.ts'

const list: readonly KindRule[] = [
  agent,
  application,
  authzPolicy,
  claim,
  client,
  clientMapper,
  flow,
  identityProvider,
  identityProviderMapper,
  keyPolicy,
  messageTemplate,
  messagingProvider,
  organization,
  provisioning,
  role,
  samlClient,
  samlClientMapper,
  scimTarget,
  settings,
  subjectClaim,
  workloadIdentity,
]

/** By the kind's name. */
export const rules: ReadonlyMap<string, Rule> = new Map(
  list.map(({ kind, check }) => [kind.kind, check]),
)

/** The kinds whose rules read documents of this one, which must be checked when one of those changes. */
export const lookersAt = (kind: Kind): readonly Kind[] =>
  list.flatMap((rule) => (rule.looksAt.includes(kind) ? [rule.kind] : []))

/** The kinds of which the rule of this one wants every document. */
export const readBy = (kind: Kind): readonly Kind[] =>
  list.find((rule) => rule.kind === kind)?.reads ?? []
