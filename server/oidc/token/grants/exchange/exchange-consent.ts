/**
 * Consent at an exchange (RFC 8693): a client with `consentRequired` exchanges the tokens of users who have consented to it, and
 * gets no scope beyond their consent. A grant that the user gave the client itself needs no other.
 */

import type { Clock } from '#server/platform/clock.ts'
import type { UserRow } from '#server/storage/tables/tables.ts'
import type { GrantsStore } from '#server/tokens/grants/grants-store.ts'
import type { Consents } from '../../../consent/consents.ts'
import { invalidRequest, type OAuthError } from '../../../errors.ts'
import type { GrantContext, Issuance } from '../grant.ts'
import type { ExchangedToken } from './exchanged-token.ts'

export interface ExchangeConsent {
  readonly scopes: ReadonlySet<string>
  /** Makes the grant that a revocation of the consent ends, and the token with it. */
  grant(
    scope: readonly string[],
    lifespan: number,
  ): { readonly id: string } & Required<Pick<Issuance, 'statements' | 'onConflict'>>
}

export interface ExchangeConsentParts {
  readonly clock: Clock
  readonly grantsStore: Pick<GrantsStore, 'create'>
  readonly consents: Pick<Consents, 'scopesOf' | 'hold'>
}

/** As for a delegation (RFC 8693 §2.2.2). */
const notAllowed = (): OAuthError =>
  invalidRequest('the user does not allow this client; ask for consent at /authorize')

export const createExchangeConsent = ({ clock, grantsStore, consents }: ExchangeConsentParts) => {
  const ofUser = (
    { issuer, client }: GrantContext,
    { id: userId }: UserRow,
    { grant }: ExchangedToken,
    scopes: ReadonlySet<string>,
  ): ExchangeConsent => ({
    scopes,
    grant: (scope, lifespan) => {
      const made = grantsStore.create({
        realm: issuer.name,
        clientId: client.id,
        userId,
        sid: grant?.sid ?? undefined,
        offline: grant?.offline === 1,
        scope,
        expiresAt: clock.now() + lifespan * 1000,
      })
      return {
        id: made.grant.id,
        statements: [consents.hold(userId, client.id), ...made.statements],
        onConflict: async () => notAllowed(),
      }
    },
  })

  /** Undefined where none is needed; throws where it is missing. */
  return async (
    context: GrantContext,
    subject: ExchangedToken,
  ): Promise<ExchangeConsent | undefined> => {
    const { client } = context
    const { user, grant } = subject
    if (!user || !client.doc.consentRequired || grant?.client_id === client.id) return undefined
    const scopes = await consents.scopesOf(user.id, client.id)
    if (!scopes) throw notAllowed()
    return ofUser(context, user, subject, scopes)
  }
}
