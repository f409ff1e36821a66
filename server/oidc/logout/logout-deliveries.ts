/** Notifies clients that a session has ended (OIDC Back-Channel Logout 1.0): a logout token for each job of the queue. */

import { Client } from '#schemas/kinds/clients/client.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import type { Outgoing } from '#server/platform/outgoing/client.ts'
import type { EndedSession } from '#server/sessions/endings.ts'
import type { TellLogout } from '#server/sessions/logout-queue.ts'
import type { Storage } from '#server/storage/contract.ts'
import { clientOf, type TokenClient } from '#server/tokens/client.ts'
import type { Issuer } from '#server/tokens/issuers.ts'
import type { Mint } from '#server/tokens/mint.ts'
import { SubjectMissingError, type Subjects } from '#server/tokens/subject.ts'
import { userById } from '#server/users/user-rows.ts'

export interface LogoutDeliveryParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly mint: Pick<Mint, 'sign'>
  readonly subjects: Subjects
}

const tokenSeconds = 120
const event = 'http://schemas.openid.net/event/backchannel-logout'
const longestAnswer = 64 * 1024

export const logoutDeliveries = (parts: LogoutDeliveryParts): TellLogout => {
  const { storage, clock, outgoing, mint, subjects } = parts

  /** Undefined where the user is gone, or has no subject any more: the session's id is enough (§2.4). */
  const subjectOf = async (
    { view }: Issuer,
    client: TokenClient,
    userId: string | null,
  ): Promise<string | undefined> => {
    if (userId === null) return undefined
    const user = await userById(storage, userId)
    try {
      return user && (await subjects.subjectOf(view, client, user))
    } catch (error) {
      if (error instanceof SubjectMissingError) return undefined
      throw error
    }
  }

  const logoutToken = async (
    issuer: Issuer,
    client: TokenClient,
    { sid, user }: EndedSession,
  ): Promise<string> => {
    const iat = Math.floor(clock.now() / 1000)
    const sub = await subjectOf(issuer, client, user)
    return mint.sign(issuer, client, 'logout+jwt', {
      iss: issuer.url,
      aud: client.clientId,
      iat,
      exp: iat + tokenSeconds,
      jti: newId(),
      sid,
      ...(sub === undefined ? {} : { sub }),
      events: { [event]: {} },
    })
  }

  return async ({ target, payload }, issuer, signal) => {
    const document = await issuer.view.byId(Client.kind, target)
    if (!document) return undefined
    const client = clientOf(document)
    // Of a disabled client too, as of a disabled service provider: its session ends with the sign-in that it came of.
    const url = client.doc.backchannelLogoutUri
    if (url === undefined) return { kind: 'done' }
    const { status } = await outgoing.request({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `logout_token=${await logoutToken(issuer, client, payload)}`,
      maxBytes: longestAnswer,
      dropBody: true,
      signal,
    })
    return status >= 200 && status < 300
      ? { kind: 'done' }
      : { kind: 'retry', reason: `it answers ${status}` }
  }
}
