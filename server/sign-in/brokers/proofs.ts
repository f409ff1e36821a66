/**
 * What a sign-in at an identity provider proves here: one factor, or two where the provider says so. Its own methods are not
 * ours: a password there is no answer to a flow that asks for the password here.
 */

import type { UpstreamIdentity } from '#server/broker/protocol.ts'
import { federated } from '../flow/levels.ts'

/** Something the user knows, has and is (RFC 8176 §2). Risk, location and a present user are no factors. */
const classes: readonly ReadonlySet<string>[] = [
  new Set(['pwd', 'pin', 'kba']),
  new Set(['otp', 'hwk', 'swk', 'sc', 'sms', 'tel', 'pop']),
  new Set(['fpt', 'face', 'iris', 'retina', 'vbm']),
]

/** Contexts that mean several factors: REFEDS MFA, Entra ID, and levels of eIDAS (Regulation 2015/1502, annex 2.2.1). */
const strongContexts: ReadonlySet<string> = new Set([
  'https://refeds.org/profile/mfa',
  'http://schemas.microsoft.com/claims/multipleauthn',
  'http://eidas.europa.eu/LoA/substantial',
  'http://eidas.europa.eu/LoA/high',
])

const provesTwo = ({ amr = [], acr }: Pick<UpstreamIdentity, 'amr' | 'acr'>): boolean =>
  amr.includes('mfa') ||
  (acr !== undefined && strongContexts.has(acr)) ||
  classes.filter((methods) => amr.some((one) => methods.has(one))).length > 1

export const methodsOf = (identity: Pick<UpstreamIdentity, 'amr' | 'acr'>): readonly string[] =>
  provesTwo(identity) ? [federated, 'mfa'] : [federated]
