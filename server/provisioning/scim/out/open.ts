/** Opens provisioning of other services over SCIM: the feed of changes, and the job that sends them. */

import type { AuditArea } from '#server/audit/open.ts'
import type { Jobs } from '#server/jobs/queue.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Logger } from '#server/platform/logger.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { Copy } from '#server/storage/documents/copy.ts'
import type { StoredDocument } from '#server/storage/documents/document.ts'
import { checkTarget } from './check.ts'
import { startFeed } from './feed.ts'
import { createAccessTokens } from './protocol/access-tokens.ts'
import { ScimRefusal } from './protocol/refusal.ts'
import { createReconcile } from './reconcile/reconcile.ts'
import type { ReconcileRequest } from './reconcile/reconciliation.ts'
import { clientOf, scimRuns } from './run.ts'
import { createStandingOf } from './standing.ts'
import { createAccountsOf } from './state/accounts.ts'
import { createSentMembers } from './state/members.ts'
import { createResources } from './state/resources.ts'
import { createStandings } from './state/standings.ts'
import { type ScimTargetInUse, targetOf } from './target.ts'

export interface ScimOutNeeds {
  readonly storage: Storage
  readonly copy: Copy
  readonly clock: Clock
  readonly logger: Logger
  readonly outgoing: Outgoing
  readonly vault: Pick<Vault, 'reveal'>
  readonly metrics: Pick<Metrics, 'scimSent'>
  readonly jobs: Jobs
  readonly audit: Pick<AuditArea, 'outbox' | 'recorder'>
}

export const openScimOut = (needs: ScimOutNeeds) => {
  const { storage, copy, clock, logger, outgoing, vault, metrics, jobs, audit } = needs
  const { outbox, recorder } = audit
  const resources = createResources(storage)
  const members = createSentMembers(storage)
  const standings = createStandings(storage)
  const tokens = createAccessTokens({ outgoing, now: () => clock.now() })
  const clientFor = (target: ScimTargetInUse) => {
    if (target.problem !== undefined) throw new ScimRefusal(target.problem, null)
    return clientOf({ outgoing, tokens, clock }, target)
  }
  const reconcile = createReconcile({ storage, jobs, resources, members, standings })
  return {
    targetOf: (document: StoredDocument): ScimTargetInUse => targetOf(document, vault),
    accountsOf: createAccountsOf({ resources }),
    standingOf: createStandingOf({ storage, resources, standings }),
    reconcile: async (request: Omit<ReconcileRequest, 'client'>) =>
      reconcile({ ...request, client: clientFor(request.target) }),
    check: (target: ScimTargetInUse) => checkTarget(target, () => clientFor(target)),
    handler: scimRuns({
      storage,
      copy,
      clock,
      outgoing,
      vault,
      recorder,
      metrics,
      resources,
      members,
      standings,
      tokens,
    }),
    start: () => startFeed({ storage, copy, outbox, jobs, resources, standings, logger }),
  }
}

export type ScimOutArea = ReturnType<typeof openScimOut>
