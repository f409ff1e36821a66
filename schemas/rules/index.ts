/** THE list of rules, at most one entry a kind. */

import type { Kind } from '../kind.ts'
import { application } from './application.ts'
import { authzPolicy } from './authz-policy.ts'
import { claim, clientMapper } from './claim-mapper.ts'
import { client } from './client.ts'
import { flow } from './flow.ts'
import { identityProvider } from './identity-provider.ts'
import { keyPolicy } from './key-policy.ts'
import { messageTemplate } from './message-template.ts'
import { messagingProvider } from './messaging-provider.ts'
import { organization } from './organization.ts'
import { role } from './role.ts'
import type { KindRule, Rule } from './rule.ts'
import { samlClient } from './saml-client.ts'
import { samlClientMapper } from './saml-client-mapper.ts'
import { settings } from './settings.ts'
import { subjectClaim } from './subject-claim.ts'
import { workloadIdentity } from './workload-identity.ts'

const list: readonly KindRule[] = [
  application,
  authzPolicy,
  claim,
  client,
  clientMapper,
  flow,
  identityProvider,
  keyPolicy,
  messageTemplate,
  messagingProvider,
  organization,
  role,
  samlClient,
  samlClientMapper,
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
