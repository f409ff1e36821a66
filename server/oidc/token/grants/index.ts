/** THE list of grants. */

import type { Recorder } from '#server/audit/audit.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { DirectLack } from '#server/sign-in/flow/direct-grant.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { Consents } from '../../consent/consents.ts'
import type { DecoupledRequests } from '../../decoupled/decoupled-requests.ts'
import type { Delegations } from '../../delegation/delegations.ts'
import { createDenials } from '../../uma/denials.ts'
import type { Codes } from '../codes.ts'
import { authorizationCode } from './authorization-code.ts'
import { ciba } from './ciba.ts'
import { clientCredentials } from './client-credentials.ts'
import { deviceCode } from './device-code.ts'
import { delegation } from './exchange/delegation.ts'
import { tokenExchange } from './exchange/token-exchange.ts'
import type { Grant } from './grant.ts'
import { passwordGrant } from './password.ts'
import { createProlong } from './prolong.ts'
import { refreshToken } from './refresh-token.ts'
import { umaTicket } from './uma-ticket.ts'

export interface GrantNeeds {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'login'>
  readonly tokens: Pick<TokensArea, 'grantsStore' | 'verifier' | 'agents'>
  readonly sessions: Sessions
  readonly authenticator: Authenticator
  readonly directLack: DirectLack
  readonly codes: Codes
  readonly consents: Pick<Consents, 'scopesOf'>
  readonly delegations: Pick<Delegations, 'find' | 'use'>
  readonly deviceRequests: DecoupledRequests
  readonly cibaRequests: DecoupledRequests
  readonly authz: AuthzArea
  readonly users: Pick<UsersArea, 'store'>
}

export interface Grants {
  /** Of the token endpoint. */
  readonly grants: readonly Grant[]
  /** With an endpoint of its own. */
  readonly delegate: Grant
}

export const createGrants = (needs: GrantNeeds): Grants => {
  const { clock, recorder, metrics, sessions, authenticator, directLack, codes } = needs
  const { deviceRequests, cibaRequests, authz, consents, delegations } = needs
  const { grantsStore, verifier, agents } = needs.tokens
  const prolong = createProlong({ clock, grantsStore })
  const denials = createDenials({ authz, users: needs.users.store, recorder })
  const approved = { clock, grantsStore, verifier, codes, prolong }
  const delegate = delegation({ verifier, grantsStore, clock, agents, consents, delegations })
  const grants = [
    authorizationCode({ clock, recorder, grantsStore, verifier, codes, prolong }),
    clientCredentials,
    refreshToken({ clock, grantsStore, verifier, sessions, recorder }),
    passwordGrant({ authenticator, directLack, grantsStore, clock, metrics, prolong }),
    tokenExchange({ verifier, grantsStore, clock, agents }, delegate),
    umaTicket({ authz, denials, verifier, grantsStore, clock }),
    deviceCode(approved, deviceRequests),
    ciba(approved, cibaRequests),
  ]
  return { grants, delegate }
}
