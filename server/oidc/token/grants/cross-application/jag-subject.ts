/**
 * The user that an ID-JAG is asked for (draft-ietf-oauth-identity-assertion-authz-grant §4.3.1): by an id token of the client, or by
 * a refresh token, which is judged as at a refresh and stays unspent. Whatever ends the grant ends this too.
 */

import { own } from '#schemas/own.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { GrantData, GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { LiveGrant } from '#server/tokens/verify.ts'
import { invalidGrant, invalidRequest, type OAuthError } from '../../../errors.ts'
import { impersonatorIn } from '../../acting.ts'
import { idTokenType } from '../exchange/exchanged-token.ts'
import { createLiveIdToken, type LiveIdTokenParts } from '../exchange/live-id-token.ts'
import type { GrantContext } from '../grant.ts'
import type { createLiveRefreshToken } from '../live-refresh-token.ts'

const refreshTokenType = 'urn:ietf:params:oauth:token-type:refresh_token'

export interface JagSubject {
  readonly user: UserRow
  /** How the user signed in. */
  readonly data: GrantData
  /** When the subject token ends, in epoch milliseconds. */
  readonly until: number
}

export type ReadJagSubject = (context: GrantContext) => Promise<JagSubject>

export interface JagSubjectParts extends LiveIdTokenParts {
  readonly grantsStore: GrantsStore
  readonly liveRefreshToken: ReturnType<typeof createLiveRefreshToken>
}

type Found = Partial<LiveGrant> & { readonly until: number }

const refused = (detail: string): OAuthError =>
  invalidGrant('the subject_token is not good', { detail })

export const createReadJagSubject = (parts: JagSubjectParts): ReadJagSubject => {
  const { grantsStore, liveRefreshToken } = parts
  const liveIdToken = createLiveIdToken(parts)

  const readers: Readonly<
    Record<string, (context: GrantContext, value: string) => Promise<Found>>
  > = {
    [idTokenType]: async (context, value) => {
      const token = await liveIdToken(context, value)
      if (!token)
        throw refused('it is not an id token of this client, or its session or grant has ended')
      return { ...token, until: Number(token.claims['exp']) * 1000 }
    },
    [refreshTokenType]: async (context, value) => {
      if (!context.client.doc.grantTypes.includes('refresh_token'))
        throw refused('the client may not use refresh tokens')
      return liveRefreshToken(context, value)
    },
  }

  return async (context) => {
    const { form } = context
    const value = form.require('subject_token')
    const read = own(readers, form.require('subject_token_type'))
    if (!read)
      throw invalidRequest(`subject_token_type must be one of ${Object.keys(readers).join(', ')}`)
    const { grant, user, until } = await read(context, value)
    if (!grant || !user) throw refused('it is not the token of a user')
    const data = grantsStore.dataOf(grant)
    // The other server could not tell an administrator from the user.
    if (impersonatorIn(data.claims?.['act']) !== undefined)
      throw refused('an administrator acts as the user')
    return { user, data, until }
  }
}
