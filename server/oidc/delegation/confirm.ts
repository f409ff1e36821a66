/**
 * An exchange for high-risk scopes needs a confirmation of the user from the last minutes. Without one it is refused with the
 * address where the user decides, in the words of RFC 8628 §3.2; the agent shows it to the user and repeats the exchange.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import { highRiskScopes } from '#server/tokens/access/high-risk.ts'
import type { BoundAgent } from '#server/tokens/agents/agents.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { pollInterval } from '../decoupled/decoupled-requests.ts'
import { accessDenied, oauthError } from '../errors.ts'
import { agentConfirmPath } from '../page-handles.ts'
import type { Confirmations } from './confirmations.ts'

export interface Asked {
  readonly user: UserRow
  readonly agent: BoundAgent
  readonly scope: readonly string[]
  /** The audiences and resources. */
  readonly targets: readonly string[]
}

/** Until when the user allows it, in epoch milliseconds; infinity where nothing is to be confirmed. Throws an OAuthError. */
export type Confirm = (issuer: Issuer, asked: Asked) => Promise<number>

const interactionRequired = oauthError('interaction_required')

export const createConfirm =
  ({
    clock,
    confirmations,
  }: {
    readonly clock: Clock
    readonly confirmations: Pick<Confirmations, 'of'>
  }): Confirm =>
  async (issuer, { user, agent, scope, targets }) => {
    const scopes = await highRiskScopes(issuer.view, scope)
    if (scopes.length === 0) return Number.POSITIVE_INFINITY
    const wanted = { realm: issuer.name, userId: user.id, agentId: agent.id, scopes, targets }
    const row = await confirmations.of(wanted)
    if (!row) throw accessDenied('too many requests of this agent wait for the user')
    if (row.status === 'APPROVED') return row.expires_at
    if (row.status === 'DENIED') throw accessDenied('the user did not allow it')
    throw interactionRequired(`the user must confirm the scope ${scopes.join(' ')}`, {
      members: {
        verification_uri: `${issuer.url}${agentConfirmPath}/${row.id}`,
        expires_in: Math.ceil((row.expires_at - clock.now()) / 1000),
        interval: pollInterval,
      },
    })
  }
