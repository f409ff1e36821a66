/**
 * Security keys and passkeys (WebAuthn Level 3): how they are registered, and how a signature of one is checked. A challenge
 * needs no memory: it is signed for one user or realm and one purpose, good for five minutes, and its use is written down with
 * what it allows, so that a signature is accepted once.
 */

import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { SettingsDoc } from '#schemas/kinds/settings.ts'
import type { Clock } from '#server/platform/clock.ts'
import { newId } from '#server/platform/ids.ts'
import { constantTimeEqual } from '#server/platform/random.ts'
import { hmacSha256 } from '#server/platform/sealing.ts'
import type { Statement, Storage } from '#server/storage/contract.ts'
import { guarded } from '#server/storage/statements.ts'
import type { CredentialRow, UserRow } from '#server/storage/tables/tables.ts'
import { presentOnce } from '../replay-guards.ts'
import type { Factors } from './factors.ts'

/** Loaded for the first key: its parsers of certificates would take a tenth of every start. */
const webauthn = () => import('@simplewebauthn/server')

export const passkeyType = 'webauthn'
const challengeMs = 5 * 60_000
const mostBytes = 12_000

/** What is stored of a key; nothing of it is secret. The counter is the column `used`. */
interface StoredKey {
  readonly credentialId: string
  /** COSE, base64url. */
  readonly publicKey: string
  readonly transports: readonly string[]
  readonly backedUp: boolean
  readonly aaguid: string
}

export interface ProvedKey {
  readonly row: CredentialRow
  /** Whether the device has asked for a finger, a face or a PIN. */
  readonly userVerified: boolean
  /** `swk` of a key that lives in more than one device, else `hwk` (RFC 8176). */
  readonly amr: 'hwk' | 'swk'
  readonly statements: readonly Statement[]
}

/** User and purpose of a challenge: it is not valid for another purpose. */
export type Audience = string

export interface Passkeys {
  /** Whether browsers can make passkeys for the realm: an IP address is no relying party (WebAuthn Level 3, §5.1.3). */
  arePossible(settings: SettingsDoc): boolean
  of(userId: string): Promise<CredentialRow[]>
  creationOptions(settings: SettingsDoc, user: UserRow, audience: Audience): Promise<object>
  /** Undefined where the answer is none. */
  register(
    settings: SettingsDoc,
    user: UserRow,
    audience: Audience,
    response: string,
    label: string | null,
  ): Promise<{ readonly row: CredentialRow; readonly statements: readonly Statement[] } | undefined>
  /** For one user, or for any user with a passkey. */
  requestOptions(
    settings: SettingsDoc,
    user: UserRow | undefined,
    audience: Audience,
  ): Promise<object>
  /** The user that the key says it belongs to. */
  ownerOf(response: string): string | undefined
  /** Undefined where the signature is none of this user's keys. */
  verify(
    settings: SettingsDoc,
    user: UserRow,
    audience: Audience,
    response: string,
    options?: { readonly userVerification: boolean },
  ): Promise<ProvedKey | undefined>
  /** As `verify`, for a challenge that the caller made: the caller ensures single use. */
  verifyChallenge(
    settings: SettingsDoc,
    user: UserRow,
    challenge: string,
    response: string,
  ): Promise<ProvedKey | undefined>
}

export interface PasskeyParts {
  readonly storage: Pick<Storage, 'db'>
  readonly clock: Clock
  readonly factors: Pick<Factors, 'ofType'>
  readonly key: Uint8Array
  readonly baseUrl: string
}

const parse = <T>(response: string): T | undefined => {
  if (response.length > mostBytes) return undefined
  try {
    const value: unknown = JSON.parse(response)
    return typeof value === 'object' && value !== null ? (value as T) : undefined
  } catch {
    return undefined
  }
}

const bytes = (base64url: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(base64url, 'base64url'))

export const createPasskeys = ({
  storage,
  clock,
  factors,
  key,
  baseUrl,
}: PasskeyParts): Passkeys => {
  const { db } = storage
  const { origin, hostname } = new URL(baseUrl)
  const relyingParty = ({ webAuthnPolicyRpId }: SettingsDoc): string =>
    webAuthnPolicyRpId ?? hostname

  const signature = (audience: Audience, nonce: string, at: string): string =>
    hmacSha256(key, `webauthn\n${audience}\n${nonce}\n${at}`).slice(0, 32)

  const newChallenge = (audience: Audience): Uint8Array<ArrayBuffer> => {
    const nonce = randomBytes(16).toString('base64url')
    const at = clock.now().toString(36)
    return new Uint8Array(Buffer.from(`${nonce}.${at}.${signature(audience, nonce, at)}`))
  }

  const isChallenge =
    (audience: Audience) =>
    (challenge: string): boolean => {
      const text = Buffer.from(challenge, 'base64url').toString()
      const [nonce = '', at = '', signed = ''] = text.split('.')
      const age = clock.now() - Number.parseInt(at, 36)
      return (
        constantTimeEqual(signed, signature(audience, nonce, at)) && age >= 0 && age < challengeMs
      )
    }

  /** Fails when the answer to this challenge was accepted before. */
  const spendChallenge = (realm: string, clientData: string): Statement => {
    const { challenge } = JSON.parse(Buffer.from(clientData, 'base64url').toString())
    const expiresAt = clock.now() + challengeMs
    const presented = { realm, purpose: 'webauthn', id: String(challenge), expiresAt }
    return presentOnce(storage, presented, 'webauthn-challenge')
  }

  const keyOf = ({ secret }: CredentialRow): StoredKey => JSON.parse(secret)

  const described = (row: CredentialRow) => {
    const { credentialId: id, transports } = keyOf(row)
    return { id, transports: transports as AuthenticatorTransport[] }
  }

  /** A signature of one of the user's keys over the challenge that is expected. */
  const prove = async (
    settings: SettingsDoc,
    user: UserRow,
    response: string,
    expectedChallenge: string | ((challenge: string) => boolean),
    userVerification: boolean,
  ): Promise<(ProvedKey & { readonly clientData: string }) | undefined> => {
    const answer = parse<AuthenticationResponseJSON>(response)
    const rows = await factors.ofType(user.id, passkeyType)
    const row = rows.find((one) => keyOf(one).credentialId === answer?.id)
    if (!answer || !row) return undefined
    const { credentialId: id, publicKey, backedUp } = keyOf(row)
    try {
      const { verifyAuthenticationResponse } = await webauthn()
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: answer,
        expectedChallenge,
        expectedOrigin: origin,
        expectedRPID: relyingParty(settings),
        credential: { id, publicKey: bytes(publicKey), counter: row.used },
        requireUserVerification:
          userVerification || settings.webAuthnPolicyUserVerificationRequirement === 'required',
      })
      if (!verified) return undefined
      const counted = db
        .updateTable('credentials')
        .set({ used: authenticationInfo.newCounter })
        .where('id', '=', row.id)
        .where('used', '=', row.used)
      return {
        row,
        userVerified: authenticationInfo.userVerified,
        amr: backedUp ? 'swk' : 'hwk',
        statements: [guarded(counted, 'webauthn-counter')],
        clientData: answer.response.clientDataJSON,
      }
    } catch {
      return undefined
    }
  }

  return {
    arePossible: (settings) => isIP(relyingParty(settings).replace(/^\[|\]$/g, '')) === 0,

    of: (userId) => factors.ofType(userId, passkeyType),

    async creationOptions(settings, user, audience) {
      const { generateRegistrationOptions } = await webauthn()
      return generateRegistrationOptions({
        rpName: settings.displayName || user.realm,
        rpID: relyingParty(settings),
        userID: new Uint8Array(Buffer.from(user.id)),
        userName: user.username,
        userDisplayName: [user.first_name, user.last_name].filter(Boolean).join(' '),
        challenge: newChallenge(audience),
        timeout: challengeMs,
        attestationType:
          settings.webAuthnPolicyAttestationConveyancePreference === 'indirect'
            ? 'direct'
            : settings.webAuthnPolicyAttestationConveyancePreference,
        excludeCredentials: (await factors.ofType(user.id, passkeyType)).map(described),
        authenticatorSelection: {
          residentKey: 'preferred',
          userVerification: settings.webAuthnPolicyUserVerificationRequirement,
        },
      })
    },

    async register(settings, user, audience, response, label) {
      const answer = parse<RegistrationResponseJSON>(response)
      if (!answer) return undefined
      try {
        const { verifyRegistrationResponse } = await webauthn()
        const { verified, registrationInfo } = await verifyRegistrationResponse({
          response: answer,
          expectedChallenge: isChallenge(audience),
          expectedOrigin: origin,
          expectedRPID: relyingParty(settings),
          requireUserVerification:
            settings.webAuthnPolicyUserVerificationRequirement === 'required',
        })
        if (!verified || !registrationInfo) return undefined
        const { credential, credentialBackedUp: backedUp, aaguid } = registrationInfo
        const stored: StoredKey = {
          credentialId: credential.id,
          publicKey: Buffer.from(credential.publicKey).toString('base64url'),
          transports: credential.transports ?? [],
          backedUp,
          aaguid,
        }
        const row: CredentialRow = {
          id: newId(),
          realm: user.realm,
          user_id: user.id,
          type: passkeyType,
          label,
          priority: 5,
          secret: JSON.stringify(stored),
          created_at: clock.now(),
          used: credential.counter,
        }
        return { row, statements: [spendChallenge(user.realm, answer.response.clientDataJSON)] }
      } catch {
        // The library throws the reason of a failure, which is not returned to the client.
        return undefined
      }
    },

    async requestOptions(settings, user, audience) {
      const keys = user ? await factors.ofType(user.id, passkeyType) : []
      // Without the library, which the first page of every sign-in would load (PublicKeyCredentialRequestOptionsJSON, §5.1.9).
      return {
        rpId: relyingParty(settings),
        challenge: Buffer.from(newChallenge(audience)).toString('base64url'),
        timeout: challengeMs,
        allowCredentials: keys.map((row) => ({ ...described(row), type: 'public-key' })),
        userVerification: user ? settings.webAuthnPolicyUserVerificationRequirement : 'required',
      }
    },

    ownerOf(response) {
      const handle = parse<AuthenticationResponseJSON>(response)?.response?.userHandle
      return typeof handle === 'string' ? Buffer.from(handle, 'base64url').toString() : undefined
    },

    async verify(
      settings,
      user,
      audience,
      response,
      { userVerification } = { userVerification: false },
    ) {
      const proved = await prove(settings, user, response, isChallenge(audience), userVerification)
      if (!proved) return undefined
      const { clientData, ...key } = proved
      return { ...key, statements: [spendChallenge(user.realm, clientData), ...key.statements] }
    },

    verifyChallenge: (settings, user, challenge, response) =>
      prove(settings, user, response, challenge, false),
  }
}
