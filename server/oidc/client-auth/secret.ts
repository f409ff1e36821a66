/** Checks a client's secret: the present one, or the one before while it is still tolerated. */

import type { ClientDoc } from '#schemas/kinds/clients/client.ts'
import type { Vault } from '#server/keys/vault.ts'
import type { Clock } from '#server/platform/clock.ts'
import { randomToken, sha256 } from '#server/platform/random.ts'
import { previousClientSecret } from '#server/realm/rules/previous-secrets.ts'
import type { Storage } from '#server/storage/contract.ts'
import type { StoredDocument, StoredSecret } from '#server/storage/documents/document.ts'
import { type ClientAuthMethod, wrongCredentials } from './method.ts'

export interface SecretParts {
  readonly vault: Vault
  readonly storage: Storage
  readonly clock: Clock
}

/** Where the secret is in a client's document. */
export const pointer = '/secret'
const noClient = { realm: '', kind: 'client', id: '00000000-0000-0000-0000-000000000000' }
const nothing: StoredSecret = { hmac: 'x'.repeat(43) }

/** client_secret_basic and client_secret_post are interchangeable: a client registered for one may use the other. */
export const suitsSecret = ({ publicClient, tokenEndpointAuthMethod }: ClientDoc): boolean =>
  !publicClient &&
  (tokenEndpointAuthMethod === 'client_secret_basic' ||
    tokenEndpointAuthMethod === 'client_secret_post')

/** The secret that a client had before, while it is still tolerated. */
export const createPreviousSecret =
  ({ storage, clock }: Pick<SecretParts, 'storage' | 'clock'>) =>
  (id: string): Promise<StoredSecret | undefined> =>
    previousClientSecret(storage, id, clock.now())

/**
 * Recognises the secret that a client proved last, which costs a fraction of opening or deriving what is stored. Kept is
 * a digest that means nothing outside of this process, for as long as the document is the same. How far two digests
 * agree reveals nothing about their secrets, because they are keyed: they are compared as text.
 */
const createRecognition = () => {
  const salt = randomToken()
  const proven = new WeakMap<StoredDocument, string>()
  return (document: StoredDocument | undefined, credential: string) => {
    const digest = sha256(`${salt}${credential}`)
    return {
      isProven: document !== undefined && proven.get(document) === digest,
      remember: () => document && proven.set(document, digest),
    }
  }
}

/** An unknown client costs what a known one with a wrong secret does. */
export const createSecretCheck = (parts: SecretParts): ClientAuthMethod['verify'] => {
  const { vault } = parts
  const previous = createPreviousSecret(parts)
  const recognise = createRecognition()
  return async ({ client, credential }) => {
    const { isProven, remember } = recognise(client?.document, credential)
    if (isProven) return undefined
    const place = client?.document ?? noClient
    const stored = client?.document.secrets[pointer]
    const matches = vault.matches(place, pointer, stored ?? nothing, credential)
    if (matches && stored !== undefined) remember()
    if (matches) return stored === undefined ? wrongCredentials : undefined
    const before = await previous(place.id)
    return before !== undefined && vault.matches(place, pointer, before, credential)
      ? undefined
      : wrongCredentials
  }
}
