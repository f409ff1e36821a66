/** THE list of grants. */

import type { Recorder } from '#server/audit/audit.ts'
import type { AuthzArea } from '#server/authz/open.ts'
import type { BrokerArea } from '#server/broker/open.ts'
import type { Authenticator } from '#server/credentials/authenticator.ts'
import type { Metrics } from '#server/metrics/metrics.ts'
import type { Clock } from '#server/platform/clock.ts'
import type { Sessions } from '#server/sessions/sessions.ts'
import type { DirectLack } from '#server/sign-in/flow/direct-grant.ts'
import type { TokensArea } from '#server/tokens/open.ts'
import type { UsersArea } from '#server/users/open.ts'
import type { Consents } from '../../consent/consents.ts'
import type { DecoupledRequests } from '../../decoupled/decoupled-requests.ts'
import type { Confirm } from '../../delegation/confirm.ts'
import type { Delegations } from '../../delegation/delegations.ts'
import { createDenials } from '../../uma/denials.ts'
import type { Codes } from '../codes.ts'
import { authorizationCode } from './authorization-code.ts'
import { ciba } from './ciba.ts'
import { clientCredentials } from './client-credentials.ts'
import { idJag } from './cross-application/id-jag.ts'
import { createReadJagSubject } from './cross-application/jag-subject.ts'
import { jwtBearer } from './cross-application/jwt-bearer.ts'
import { createReadAssertion } from './cross-application/read-assertion.ts'
import { deviceCode } from './device-code.ts'
import { delegation } from './exchange/delegation.ts'
import { tokenExchange } from './exchange/token-exchange.ts'
import type { Grant } from './grant.ts'
import { createLiveRefreshToken } from './live-refresh-token.ts'
import { passwordGrant } from './password.ts'
import { createProlong } from './prolong.ts'
import { refreshToken } from './refresh-token.ts'
import { umaTicket } from './uma-ticket.ts'

export interface GrantNeeds {
  readonly clock: Clock
  readonly recorder: Recorder
  readonly metrics: Pick<Metrics, 'login' | 'idJag'>
  readonly tokens: Pick<TokensArea, 'grantsStore' | 'verifier' | 'agents' | 'mint'>
  readonly sessions: Sessions
  readonly authenticator: Authenticator
  readonly directLack: DirectLack
  readonly codes: Codes
  readonly consents: Pick<Consents, 'scopesOf' | 'hold'>
  readonly delegations: Pick<Delegations, 'terms' | 'use'>
  readonly confirm: Confirm
  readonly deviceRequests: DecoupledRequests
  readonly cibaRequests: DecoupledRequests
  readonly authz: AuthzArea
  readonly users: Pick<UsersArea, 'store' | 'links' | 'ranks'>
  readonly broker: Pick<BrokerArea, 'providers' | 'idJag'>
}

export interface Grants {
  /** Of the token endpoint. */
  readonly grants: readonly Grant[]
  /** With an endpoint of its own. */
  readonly delegate: Grant
}

export const createGrants = (needs: GrantNeeds): Grants => {
  const { clock, recorder, metrics, sessions, authenticator, directLack, codes } = needs
  const { deviceRequests, cibaRequests, authz, consents, delegations, confirm, broker } = needs
  const { grantsStore, verifier, agents, mint } = needs.tokens
  const { store: users, links, ranks } = needs.users
  const prolong = createProlong({ clock, grantsStore })
  const denials = createDenials({ authz, users, recorder })
  const approved = { clock, grantsStore, verifier, codes, prolong }
  const delegate = delegation({ verifier, grantsStore, clock, agents, delegations, confirm })
  const liveRefreshToken = createLiveRefreshToken({ clock, grantsStore, verifier, recorder })
  const subjectOf = createReadJagSubject({ clock, grantsStore, verifier, liveRefreshToken })
  const jag = idJag({ clock, mint, agents, metrics, subjectOf })
  const read = createReadAssertion({ clock, broker, links, users, ranks })
  const grants = [
    authorizationCode({ clock, recorder, grantsStore, verifier, codes, prolong }),
    clientCredentials,
    refreshToken({ clock, grantsStore, sessions, recorder, liveRefreshToken }),
    passwordGrant({ authenticator, directLack, grantsStore, clock, metrics, prolong }),
    tokenExchange({ verifier, grantsStore, clock, agents, consents }, delegate, jag),
    jwtBearer({
      clock,
      grantsStore,
      agents,
      delegations,
      metrics,
      broker,
      read,
    }),
    umaTicket({ authz, denials, verifier, grantsStore, clock }),
    deviceCode(approved, deviceRequests),
    ciba(approved, cibaRequests),
  ]
  return { grants, delegate }
}
