/** THE list of migrations, oldest first. Append only. */

import { first } from './0001-first.ts'
import { nouns } from './0002-nouns.ts'
import { changesets } from './0003-changesets.ts'
import { tokens } from './0004-tokens.ts'
import { logouts } from './0005-logouts.ts'
import { clientKeys } from './0006-client-keys.ts'
import { jobs } from './0007-jobs.ts'
import { audit } from './0008-audit.ts'
import { signIns } from './0009-sign-ins.ts'
import { devices } from './0010-devices.ts'
import { people } from './0011-people.ts'
import { invitations } from './0012-invitations.ts'
import { erasureRequests } from './0013-erasure-requests.ts'
import { addScopes } from './0014-scopes.ts'
import { soleWriter } from './0015-sole-writer.ts'
import { logoutRequests } from './0016-logout-requests.ts'
import { mendSecondFactor } from './0017-second-factor.ts'
import { addressUndos } from './0019-address-undos.ts'
import { onBehalfOf } from './0020-on-behalf-of.ts'
import { messageLimits } from './0023-message-limits.ts'
import { commandLine } from './0024-command-line.ts'
import { defaultRoles } from './0025-default-roles.ts'
import { renames } from './0026-renames.ts'
import { erasedPeople } from './0027-erased-people.ts'
import { passkeys } from './0028-passkeys.ts'
import { figures } from './0029-figures.ts'
import { saml } from './0030-saml.ts'
import { samlLogout } from './0031-saml-logout.ts'
import { samlMetadata } from './0032-saml-metadata.ts'
import { noSoleWriter } from './0033-no-sole-writer.ts'
import { federatedLinks } from './0034-federated-links.ts'
import { broker } from './0035-broker.ts'
import { directories } from './0040-directories.ts'
import { providerMetadata } from './0043-provider-metadata.ts'
import { samlSessionsByUser } from './0045-saml-sessions-by-user.ts'
import { brokerFlows } from './0046-broker-flows.ts'
import { upstreamNames } from './0050-upstream-names.ts'
import { scim } from './0051-scim.ts'
import { scimTargets } from './0054-scim-targets.ts'
import { registeredClients } from './0057-registered-clients.ts'
import { agents } from './0062-agents.ts'
import { authorization } from './0065-authorization.ts'
import { signals } from './0067-signals.ts'
import { scimTargetAddresses } from './0070-scim-target-addresses.ts'
import { ownerPolicies } from './0074-owner-policies.ts'
import { delegationConfirmations } from './0076-delegation-confirmations.ts'
import { signalStreams } from './0078-signal-streams.ts'
import { scimEmails } from './0080-scim-emails.ts'
import { signalSubjects } from './0081-signal-subjects.ts'
import { realmNames } from './0082-realm-names.ts'
import { impersonators } from './0083-impersonators.ts'
import type { Migration } from './migration.ts'

export const migrations: readonly Migration[] = [
  first,
  nouns,
  changesets,
  tokens,
  logouts,
  clientKeys,
  jobs,
  audit,
  signIns,
  devices,
  people,
  invitations,
  erasureRequests,
  addScopes,
  soleWriter,
  logoutRequests,
  mendSecondFactor,
  addressUndos,
  onBehalfOf,
  messageLimits,
  commandLine,
  defaultRoles,
  renames,
  erasedPeople,
  passkeys,
  figures,
  saml,
  samlLogout,
  samlMetadata,
  noSoleWriter,
  federatedLinks,
  broker,
  directories,
  providerMetadata,
  samlSessionsByUser,
  brokerFlows,
  upstreamNames,
  scim,
  scimTargets,
  registeredClients,
  agents,
  authorization,
  signals,
  scimTargetAddresses,
  ownerPolicies,
  delegationConfirmations,
  signalStreams,
  scimEmails,
  signalSubjects,
  realmNames,
  impersonators,
]
