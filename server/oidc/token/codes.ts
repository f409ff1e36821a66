/**
 * Codes and the grants behind them. The grant is there from the moment of the code, for as long as the code: whatever
 * ends the user's session or grants in between ends the code too, and the exchange only prolongs what is still there.
 */

import type { Clock } from '#server/platform/clock.ts'
import { visitClient } from '#server/sessions/session-clients.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import type { SessionRow } from '#server/storage/tables/tables.ts'
import type { TokenGrantRow } from '#server/storage/tables/token-tables.ts'
import { stillAllowed } from '#server/tokens/access/scopes.ts'
import type { TokenClient } from '#server/tokens/client.ts'
import type { GrantData, GrantsStore, Prolongation } from '#server/tokens/grants/grants-store.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import { codeLifetime } from '#server/tokens/lifetimes.ts'
import type { AuthorizeRequest } from '../authorize/authorize-request.ts'
import { issuedLevel } from '../authorize/wanted-levels.ts'

/** What the exchange must agree with. */
export interface CodeData {
  readonly redirectUri: string
  readonly codeChallenge?: string
  readonly dpopJkt?: string
}

/** Of a grant that takes a password and nothing else. */
export const passwordAcr = '1'
export const passwordAmr = ['pwd']

export interface Codes {
  issue(
    issuer: Issuer,
    client: TokenClient,
    session: SessionRow,
    request: AuthorizeRequest,
    /** The one that was asked for, by id; else that of the session. */
    organization?: string,
  ): { code: string; statements: Statement[] }
  /** The grant lives on, with the client among those to be told when the session ends. */
  redeem(grant: TokenGrantRow, change: Prolongation): Statement[]
}

/** An administrator who acts as the user is named in every token (RFC 8693 §4.1). */
export const actorOf = ({ impersonator }: SessionRow): Pick<GrantData, 'claims'> =>
  impersonator === null ? {} : { claims: { act: { sub: impersonator } } }

const grantData = (
  session: SessionRow,
  request: AuthorizeRequest,
  organization = session.organization_id ?? undefined,
): GrantData => ({
  authTime: session.created_at,
  acr: issuedLevel(request, session.acr),
  amr: JSON.parse(session.amr),
  resources: request.resources,
  ...(request.nonce === undefined ? {} : { nonce: request.nonce }),
  ...(request.idTokenClaims ? { idTokenClaims: request.idTokenClaims } : {}),
  ...(request.userinfoClaims ? { userinfoClaims: request.userinfoClaims } : {}),
  ...(organization === undefined ? {} : { organization }),
  ...actorOf(session),
})

export const createCodes = ({
  storage: { db },
  clock,
  grantsStore,
}: {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly grantsStore: GrantsStore
}): Codes => ({
  issue: ({ name: realm }, client, session, request, organization) => {
    const { redirectUri, codeChallenge, dpopJkt } = request
    const data: CodeData = {
      redirectUri,
      ...(codeChallenge === undefined ? {} : { codeChallenge }),
      ...(dpopJkt === undefined ? {} : { dpopJkt }),
    }
    const owner = { realm, clientId: client.id, userId: session.user_id }
    const { grant, statements } = grantsStore.create({
      ...owner,
      sid: session.sid,
      scope: stillAllowed(client, request.scope),
      data: grantData(session, request, organization),
      expiresAt: clock.now() + codeLifetime * 1000,
    })
    const made = grantsStore.createCode({
      ...owner,
      grantId: grant.id,
      data,
      lifetimeSeconds: codeLifetime,
    })
    return { code: made.code, statements: [...statements, ...made.statements] }
  },

  redeem: ({ id, sid, client_id: clientId, user_id: userId, realm }, change) => [
    ...grantsStore.prolong(id, change),
    ...(sid === null ? [] : [visitClient(db, { sid, clientId, userId, realm, now: clock.now() })]),
  ],
})
